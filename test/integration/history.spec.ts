import { encodeTime, ulid } from 'ulid';
import { loadConfig } from '../../src/config/config.js';
import { ENTITIES } from '../../src/modules/entities.js';
import { Notification } from '../../src/modules/notifications/notification.entity.js';
import { HistoryCleanerWorker } from '../../src/modules/operations/history-cleaner.worker.js';
import { AccountsService } from '../../src/modules/accounts/accounts.service.js';
import type { Database } from '../../src/platform/database/database.js';
import { ActivityEvent } from '../../src/platform/events/activity-event.entity.js';
import { createLogger } from '../../src/platform/observability/logger.js';
import { Operation } from '../../src/platform/operations/operation.entity.js';
import { TestDatabase } from '../support/database.js';

const DAYS = 30;
const DAY_MS = 86_400_000;
const [A, B] = ['srv_01m80b5h71m1x6ffbyt618dwva', 'srv_01m80b5h71m1x6ffbyt618dwvb'];

let database: TestDatabase;
let platform: Database;
let accountId: string;

beforeAll(async () => {
  database = await TestDatabase.create(ENTITIES);
  platform = database.database;
  ({ id: accountId } = await new AccountsService(platform).create({
    username: 'historian',
    email: 'historian@example.test',
    plan: 'pro',
  }));
});
afterAll(() => database.drop());

function idOf(prefix: string, daysAgo: number): string {
  return `${prefix}_${`${encodeTime(Date.now() - daysAgo * DAY_MS, 10)}${ulid().slice(10)}`.toLowerCase()}`;
}

function pass(): Promise<number> {
  const config = loadConfig({ HISTORY_DAYS: String(DAYS) }, '/dev/null');
  return new HistoryCleanerWorker(config, platform, createLogger({ logLevel: 'fatal' })).pass();
}

async function left(table: string, resourceId = '%'): Promise<string[]> {
  const sql = `SELECT id FROM ${table} WHERE resource_id LIKE ? ORDER BY id`;
  return (await platform.manager.query<{ id: string }[]>(sql, [resourceId])).map(({ id }) => id);
}

test('activity goes when its time is up, and not before', async () => {
  const days = [400, 31, 30.1, 29.9, 1, 0];
  const rows = days.map((ago) => ({ id: idOf('act', ago), accountId, resourceId: A, event: 'server:create' }));
  const rest = { actorType: 'system' as const, actorId: null, ip: null, properties: {}, createdAt: new Date() };
  await platform.manager.insert(
    ActivityEvent,
    rows.map((row) => ({ ...row, ...rest })),
  );
  // More than what goes in one transaction.
  const many = Array.from({ length: 4500 }, () => ({ ...rows[0]!, ...rest, id: idOf('act', 100) }));
  for (let at = 0; at < many.length; at += 900) {
    await platform.manager.insert(ActivityEvent, many.slice(at, at + 900));
  }
  expect(await pass()).toBe(4503);
  expect(await left('activity_events')).toEqual(rows.slice(3).map(({ id }) => id));
  expect(await pass()).toBe(0);
});

test('of operations stays what is under way, and the newest of what is there', async () => {
  const made = (resourceId: string, daysAgo: number, status: Operation['status'], type = 'server.power') => ({
    ...{ id: idOf('op', daysAgo), accountId, resourceId, type, status, payload: {}, progress: 0, attempts: 1 },
    ...{ failures: 0, cancelRequested: false, undoing: false, step: null, activeKey: null },
    ...{ dueAt: new Date(), createdAt: new Date(), updatedAt: new Date() },
  });
  const old = [
    made(A, 90, 'DONE'),
    made(A, 80, 'FAILED'),
    made(A, 70, 'CANCELLED'),
    made(B, 60, 'DONE', 'server.delete'),
  ];
  const kept = [made(A, 65, 'RUNNING'), made(A, 50, 'DONE'), made(`${B.slice(0, -1)}c`, 40, 'FAILED')];
  await platform.manager.insert(Operation, [...old, ...kept] as never);
  expect(await pass()).toBe(old.length);
  expect(await left('operations')).toEqual(kept.map(({ id }) => id).sort());
});

test('of one resource stays the newest, however much it did within that time', async () => {
  const [busy, quiet] = [`${B.slice(0, -1)}d`, `${B.slice(0, -1)}e`];
  const entry = (resourceId: string) => ({
    ...{ id: idOf('act', 1), accountId, resourceId, event: 'server:power.start', actorType: 'system' as const },
    ...{ actorId: null, ip: null, properties: {}, createdAt: new Date() },
  });
  const rows = Array.from({ length: 12_500 }, () => entry(busy));
  const all = [...rows, entry(quiet)];
  for (let at = 0; at < all.length; at += 900) await platform.manager.insert(ActivityEvent, all.slice(at, at + 900));
  const ids = rows.map(({ id }) => id);
  expect(await pass()).toBe(2500);
  expect(await left('activity_events', busy)).toEqual(ids.sort().slice(2500));
  expect(await left('activity_events', quiet)).toHaveLength(1);
  expect(await pass()).toBe(0);
});

test('so it is with its operations, of which those under way stay as well', async () => {
  const resourceId = `${B.slice(0, -1)}f`;
  const made = (status: Operation['status'], daysAgo: number) => ({
    ...{ id: idOf('op', daysAgo), accountId, resourceId, type: 'server.power', status, payload: {}, progress: 0 },
    ...{ attempts: 1, failures: 0, cancelRequested: false, undoing: false, step: null, activeKey: null },
    ...{ dueAt: new Date(), createdAt: new Date(), updatedAt: new Date() },
  });
  const old = Array.from({ length: 50 }, (_, number) => made(number === 7 ? 'RUNNING' : 'DONE', 3));
  const fresh = Array.from({ length: 1000 }, () => made('FAILED', 1));
  await platform.manager.insert(Operation, [...old, ...fresh] as never);
  expect(await pass()).toBe(49);
  const kept = [old[7]!, ...fresh].map(({ id }) => id);
  expect(await left('operations', resourceId)).toEqual(kept.sort());
});

test('of notifications stays what is still to be sent', async () => {
  const made = (daysAgo: number, status: Notification['status']) => ({
    ...{ id: idOf('ntf', daysAgo), accountId, resourceId: A, kind: 'crash', text: 'it ended', status, attempts: 0 },
    ...{ reason: null, claim: null, dueAt: new Date(), createdAt: new Date(), sentAt: null },
  });
  const old = [made(31, 'SENT'), made(90, 'NOT_SENT')];
  const kept = [made(90, 'QUEUED'), made(60, 'SENDING'), made(1, 'SENT')];
  await platform.manager.insert(Notification, [...old, ...kept]);
  expect(await pass()).toBe(old.length);
  expect(await left('notifications')).toEqual(kept.map(({ id }) => id).sort());
});
