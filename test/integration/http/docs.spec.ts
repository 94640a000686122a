import { HealthController } from '../../../src/platform/observability/health.controller.js';
import { IdempotencyKey } from '../../../src/platform/http/idempotency-key.entity.js';
import {
  DocsController,
  PanelDocumentController,
  PublicDocumentController,
} from '../../../src/surfaces/docs.controller.js';
import { TestDatabase } from '../../support/database.js';
import { RedisServer } from '../../support/redis-server.js';
import { type KernelApp, startKernelApp } from './kernel-app.js';

let redis: RedisServer;
let db: TestDatabase;
let kernel: KernelApp;

beforeAll(async () => {
  [redis, db] = await Promise.all([RedisServer.start(), TestDatabase.create([IdempotencyKey])]);
  kernel = await startKernelApp({ DATABASE_URL: db.url, REDIS_URL: redis.url }, [
    DocsController,
    PublicDocumentController,
    PanelDocumentController,
    HealthController,
  ]);
});

afterAll(async () => {
  await kernel.close();
  await db.drop();
  await redis.close();
});

test('the page runs nothing inline, and everything it asks for is here', async () => {
  const page = await fetch(`${kernel.url}/docs`);
  const policy = page.headers.get('content-security-policy')!;
  expect(policy).toContain("default-src 'none';script-src 'self';style-src 'self';");
  expect(policy).not.toContain('unsafe');
  const html = await page.text();
  expect(html).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|style=/);
  const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path!);
  expect(files.length).toBeGreaterThan(4);
  for (const file of files) {
    const answer = await fetch(kernel.url + file);
    expect([file, answer.status, answer.headers.get('x-content-type-options')]).toEqual([file, 200, 'nosniff']);
    await answer.arrayBuffer();
  }
});

test.each(['package.json', '..%2f..%2fpackage.json', 'index.html', 'toString', '__proto__'])(
  'no other file is served: %s',
  async (file) => {
    expect((await fetch(`${kernel.url}/docs/${file}`)).status).toBe(404);
  },
);

test('the public document needs no key, the panel’s a session', async () => {
  const answer = await fetch(`${kernel.url}/api/v1/openapi.json`);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(await answer.json()).toMatchObject({ openapi: '3.1.0', servers: [{ url: '/api/v1' }] });
  expect((await fetch(`${kernel.url}/panel/api/openapi.json`)).status).toBe(401);
});

test('health is public, and says no more than the names of the parts', async () => {
  expect(await (await fetch(`${kernel.url}/health/live`)).json()).toEqual({ ok: true });
  for (const path of ['/health', '/health/ready']) {
    const body = (await (await fetch(kernel.url + path)).json()) as { ok: boolean; parts: object[] };
    expect(body.ok).toBe(true);
    for (const part of body.parts) expect(Object.keys(part)).toEqual(['name', 'ok', 'critical', 'ms']);
  }
});
