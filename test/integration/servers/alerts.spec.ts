import type { INestApplicationContext } from '@nestjs/common';
import { Notifier, NotifierError } from '../../../src/drivers/notifier/notifier.js';
import { ChatAddressService } from '../../../src/modules/accounts/chat-address.service.js';
import { NotificationSenderWorker } from '../../../src/modules/notifications/notification-sender.worker.js';
import {
  NotificationsModule,
  NotificationsWorkerModule,
} from '../../../src/modules/notifications/notifications.module.js';
import { NotificationsService } from '../../../src/modules/notifications/notifications.service.js';
import type { NotificationView } from '../../../src/modules/notifications/notification.dto.js';
import { engineName } from '../../../src/modules/servers/server.operations.js';
import { AlertWatchWorker } from '../../../src/modules/servers/settings/alert-watch.worker.js';
import { AlertsService } from '../../../src/modules/servers/settings/alerts.service.js';
import type { Principal } from '../../../src/platform/auth/principal.js';
import { Database } from '../../../src/platform/database/database.js';
import { until } from '../../support/until.js';
import { ServersApp } from './servers-app.js';

const PERSON = '123456789012345678';
const MIB = 1024 * 1024;

/** The chat platform, the same for all workers. */
class FakeChat extends Notifier {
  sent: { recipient: string; text: string; key: string }[] = [];
  refusals: NotifierError[] = [];
  /** What it answers to every message, by recipient. */
  limits = new Map<string, NotifierError>();
  tries = 0;
  /** Called in the middle of a sending. */
  meanwhile: () => Promise<void> = async () => undefined;

  override async sendPrivateMessage(recipient: string, text: string, key: string): Promise<void> {
    await this.meanwhile();
    this.tries++;
    const refusal = this.refusals.shift() ?? this.limits.get(recipient);
    if (refusal) throw refusal;
    this.sent.push({ recipient, text, key });
  }
}

const chat = new FakeChat();
let app: ServersApp;
let workers: INestApplicationContext[];
let caller: Principal;
let serverId: string;

beforeAll(async () => {
  app = await ServersApp.start({ CHAT_BOT_TOKEN: 'token-of-the-tests' });
  const ports = [{ provide: Notifier, useValue: chat }];
  const modules = [NotificationsWorkerModule, NotificationsModule];
  workers = await Promise.all([app.startWorker(modules, ports), app.startWorker(modules, ports)]);
  caller = await app.makeCaller('watched');
  await workers[0]!.get(ChatAddressService).set(caller, PERSON);
  serverId = await app.makeServer(caller);
});
afterAll(() => app?.close());

beforeEach(async () => {
  Object.assign(chat, { sent: [], refusals: [], limits: new Map(), tries: 0, meanwhile: async () => undefined });
  await app.database.query('DELETE FROM notifications');
  await app.database.query("DELETE FROM activity_events WHERE event LIKE 'server:alert.%'");
});

function setAlerts(ram: number | null, cpu: number | null): Promise<unknown> {
  return app.api.get(AlertsService).set(caller, serverId, { ram, cpu });
}

/** The program is made to use so much of its 128 MB, and both workers look at it at once. */
async function looks(percent: number, rounds = 1): Promise<void> {
  const instance = (
    app.engine as unknown as { instance(name: string): { behaviour: { memoryBytes?: number } } }
  ).instance(engineName(serverId));
  instance.behaviour = { ...instance.behaviour, memoryBytes: (percent / 100) * 128 * MIB };
  for (let round = 0; round < rounds; round++) {
    await app.database.query("UPDATE server_alerts SET sampled_at = '2020-01-01'");
    await Promise.all(
      workers.flatMap((worker) => [worker, worker]).map((worker) => worker.get(AlertWatchWorker).pass()),
    );
  }
}

async function alerts(): Promise<{ event: string; properties: unknown }[]> {
  const sql =
    "SELECT event, properties FROM activity_events WHERE resource_id = ? AND event LIKE 'server:alert.%' ORDER BY id";
  return app.database.query(sql, [serverId]);
}

async function notifications(): Promise<NotificationView[]> {
  return (await workers[0]!.get(NotificationsService).list(caller, { limit: 100 })).items;
}

test('a crossing is told once, however many look, and told again after it was well below', async () => {
  await setAlerts(90, null);
  await looks(89, 2);
  expect(await alerts()).toEqual([]);
  await looks(91, 4);
  await looks(97, 2);
  await looks(86, 2);
  await looks(92, 2);
  expect(await alerts()).toMatchObject([{ event: 'server:alert.ram' }]);
  await looks(84);
  await looks(90, 3);
  expect(await alerts()).toHaveLength(2);
  await until('both sent', () => chat.sent.length === 2);
  expect(chat.sent[0]).toMatchObject({
    recipient: PERSON,
    text: expect.stringContaining('91 % of its memory') as unknown,
  });
  expect(new Set(chat.sent.map(({ key }) => key)).size).toBe(2);
  expect(await notifications()).toMatchObject([{ status: 'SENT' }, { status: 'SENT', reason: null, attempts: 1 }]);
});

test('a threshold that is moved is armed anew, but not told again at once; one that stays is not', async () => {
  await setAlerts(50, null);
  await looks(60, 2);
  await setAlerts(50, 100);
  await looks(60, 2);
  expect(await alerts()).toHaveLength(1);
  for (const threshold of [55, 56, 90, 50, null, 55]) {
    await setAlerts(threshold, 100);
    await looks(60, 2);
  }
  expect(await alerts()).toHaveLength(1);
  await letQuietTimePass();
  await looks(60, 2);
  expect(await alerts()).toHaveLength(2);
  await setAlerts(null, null);
  await looks(99, 2);
  expect(await alerts()).toHaveLength(2);
});

/** What was told was told ten minutes earlier; ids tell the time as well. */
async function letQuietTimePass(): Promise<void> {
  await app.database.query(
    "UPDATE notifications SET id = CONCAT('ntf_00', SUBSTRING(id, 7)), created_at = created_at - INTERVAL 10 MINUTE",
  );
}

test('the processor is judged by what the service may use', async () => {
  // The simulated program uses 2 % of a core, and the service has half a core.
  await setAlerts(null, 3);
  await looks(10);
  await new Promise((resolve) => setTimeout(resolve, 400));
  await looks(10);
  const [alert] = await alerts();
  expect(alert).toMatchObject({ event: 'server:alert.cpu' });
  const { percent } = (typeof alert!.properties === 'string' ? JSON.parse(alert!.properties) : alert!.properties) as {
    percent: number;
  };
  expect(percent).toBeGreaterThan(3);
  expect(percent).toBeLessThan(5);
  await setAlerts(null, null);
});

describe('sending', () => {
  function notify(...texts: string[]): Promise<void> {
    return tell(texts.map((text) => ({ accountId: caller.accountId, text })));
  }

  /** All at once, in this order. */
  function tell(messages: { accountId: string; text: string }[]): Promise<void> {
    return workers[0]!.get(Database).transaction(async (tx) => {
      const notifications = workers[0]!.get(NotificationsService);
      for (const message of messages)
        await notifications.notify(tx, { resourceId: serverId, kind: 'test', ...message });
    });
  }

  async function person(name: string): Promise<{ accountId: string; recipient: string }> {
    const principal = await app.makeCaller(name);
    const recipient = `9${String(++people).padStart(17, '0')}`;
    await workers[0]!.get(ChatAddressService).set(principal, recipient);
    return { accountId: principal.accountId, recipient };
  }
  let people = 0;

  function passes(): Promise<unknown> {
    return Promise.all(workers.map((worker) => worker.get(NotificationSenderWorker).pass()));
  }

  async function only(): Promise<NotificationView> {
    const all = await notifications();
    expect(all).toHaveLength(1);
    return all[0]!;
  }

  const makeDue = () => app.database.query("UPDATE notifications SET due_at = '2020-01-01'");

  test('two workers send a message once', async () => {
    await Promise.all(Array.from({ length: 10 }, (_, number) => notify(`${number}`)));
    await passes();
    await until('all sent', async () => (await notifications()).every(({ status }) => status === 'SENT'));
    expect(chat.sent.map(({ text }) => text).sort()).toEqual([...'0123456789']);
  });

  test('what passes is tried again, at the time that is asked for', async () => {
    chat.refusals = [new NotifierError('unavailable', '503'), new NotifierError('rate_limited', '429', 40_000)];
    await notify('again');
    await until('first try', async () => (await only()).reason === 'unavailable');
    await makeDue();
    await until('second try', async () => (await only()).reason === 'rate_limited');
    const [row] = await app.database.query<{ due_at: Date }[]>('SELECT due_at FROM notifications');
    expect(row!.due_at.getTime() - Date.now()).toBeGreaterThan(30_000);
    await makeDue();
    await until('sent', async () => (await only()).status === 'SENT');
    expect(await only()).toMatchObject({ attempts: 3, reason: null });
    expect(chat.sent).toHaveLength(1);
  });

  test('what cannot succeed is given up with its reason, at once or after a day', async () => {
    chat.refusals = [new NotifierError('refused', '403')];
    await notify('refused');
    await until('given up', async () => (await only()).status === 'NOT_SENT');
    expect(await only()).toMatchObject({ reason: 'refused', attempts: 1 });

    await app.database.query('DELETE FROM notifications');
    chat.refusals = [new NotifierError('unauthorized', '401'), new NotifierError('unauthorized', '401')];
    await notify('late');
    await until('first try', async () => (await only()).reason === 'unauthorized');
    expect((await only()).status).toBe('QUEUED');
    await app.database.query(
      "UPDATE notifications SET created_at = created_at - INTERVAL 1 DAY, due_at = '2020-01-01'",
    );
    await until('given up', async () => (await only()).status === 'NOT_SENT');
    expect(await only()).toMatchObject({ reason: 'unauthorized', attempts: 2 });
  });

  test('a message whose sender died is taken over under the same key', async () => {
    await notify('orphan');
    const orphaned = "UPDATE notifications SET status = 'SENDING', claim = 'dead', attempts = 1, due_at = '2020-01-01'";
    await app.database.query(orphaned);
    await until('sent', async () => (await only()).status === 'SENT');
    expect(chat.sent).toMatchObject([{ key: (await only()).id }]);
  });

  const hundred = (): { accountId: string; text: string }[] =>
    Array.from({ length: 100 }, (_, number) => ({ accountId: caller.accountId, text: `${number}` }));

  const sent = (wanted: string): Promise<unknown> =>
    until(`${wanted} sent`, () => chat.sent.some(({ text }) => text === wanted));

  test('accounts have turns', async () => {
    const { accountId } = await person('in-turn');
    await tell([...hundred(), { accountId, text: 'other' }]);
    await sent('other');
    expect(chat.sent.findIndex(({ text }) => text === 'other')).toBeLessThan(10);
  });

  test('a limit of one account puts off what is due of it, and nobody else', async () => {
    const { accountId } = await person('not-limited');
    chat.limits.set(PERSON, new NotifierError('rate_limited', '429', 40_000));
    await tell([...hundred(), { accountId, text: 'not limited' }]);
    await sent('not limited');
    expect(chat.tries).toBeLessThan(10);
    const putOff = "status = 'QUEUED' AND reason = 'rate_limited' AND due_at > UTC_TIMESTAMP() + INTERVAL 30 SECOND";
    await until('the rest put off', async () => {
      const rows = await app.database.query<unknown[]>(`SELECT 1 FROM notifications WHERE NOT (${putOff})`);
      return rows.length === 1;
    });
    expect(chat.tries).toBeLessThan(10);
  });

  test('a limit for all ends the pass', async () => {
    const names = Array.from({ length: 8 }, (_, number) => `limited-${number}`);
    const persons = await Promise.all(names.map(person));
    for (const { recipient } of persons)
      chat.limits.set(recipient, new NotifierError('rate_limited', '429', 40_000, true));
    await tell(persons.map(({ accountId }) => ({ accountId, text: 'all' })));
    await workers[0]!.get(NotificationSenderWorker).pass();
    expect(chat.tries).toBeGreaterThan(0);
    // One of each pass; the workers make passes of their own as well.
    expect(chat.tries).toBeLessThan(5);
  });

  test('what is too much to be sent is kept and says so', async () => {
    const { accountId } = await person('quiet');
    chat.limits.set(PERSON, new NotifierError('rate_limited', '429', 40_000));
    await tell([...hundred(), ...hundred(), ...hundred().slice(98), { accountId, text: 'quiet' }]);
    await sent('quiet');
    expect((await notifications()).slice(0, 3)).toMatchObject([
      { text: '99', status: 'NOT_SENT', reason: 'too_many', attempts: 0 },
      { text: '98', status: 'NOT_SENT', reason: 'too_many', attempts: 0 },
      { text: '99', status: 'QUEUED' },
    ]);
  });

  test('without a recipient, or with none any more, it is kept and says so', async () => {
    await workers[0]!.get(ChatAddressService).set(caller, null);
    await notify('nobody');
    expect(await only()).toMatchObject({ status: 'NOT_SENT', reason: 'no_recipient', attempts: 0 });
    await app.database.query("UPDATE notifications SET status = 'QUEUED'");
    await until('given up', async () => {
      const { attempts, status } = await only();
      return attempts === 1 && status !== 'SENDING';
    });
    expect(await only()).toMatchObject({ status: 'NOT_SENT', reason: 'no_recipient' });
    // A worker may just have sent what an earlier test left.
    expect(chat.sent.filter(({ text }) => text === 'nobody')).toEqual([]);
    await workers[0]!.get(ChatAddressService).set(caller, PERSON);
  });
});
