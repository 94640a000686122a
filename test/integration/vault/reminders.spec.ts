import type { INestApplicationContext } from '@nestjs/common';
import { Notifier } from '../../../src/drivers/notifier/notifier.js';
import { DiscordNotifier } from '../../../src/drivers/notifier/discord/discord-notifier.js';
import { ChatAddressService } from '../../../src/modules/accounts/chat-address.service.js';
import { NotificationSenderWorker } from '../../../src/modules/notifications/notification-sender.worker.js';
import { NotificationsWorkerModule } from '../../../src/modules/notifications/notifications.module.js';
import { SecretReminderWorker } from '../../../src/modules/vault/reminders/secret-reminder.worker.js';
import { VaultWorkerModule } from '../../../src/modules/vault/vault.module.js';
import { until } from '../../support/until.js';
import { FakeDiscord } from './fake-discord.js';
import { VaultApp } from './vault-app.js';

jest.setTimeout(60_000);

const PERSON = '123456789012345678';
const TOKEN = 'token-of-the-tests';

let app: VaultApp;
let discord: FakeDiscord;
let workers: INestApplicationContext[];
let id: string;

beforeAll(async () => {
  discord = await FakeDiscord.start(TOKEN);
  app = await VaultApp.start({ CHAT_BOT_TOKEN: TOKEN });
  const modules = [NotificationsWorkerModule, VaultWorkerModule];
  const chat = { provide: Notifier, useFactory: () => new DiscordNotifier({ url: discord.url, token: TOKEN }) };
  workers = await Promise.all([1, 2].map(() => app.servers.startWorker(modules, [chat])));
  await workers[0]!.get(ChatAddressService).set(app.caller, PERSON);
});
afterAll(async () => {
  await app?.close();
  await discord?.close();
});

beforeEach(async () => {
  id = await app.makeServer();
  await app.query('DELETE FROM notifications');
  discord.messages.length = 0;
});

/** Both workers look, twice each, at this many days from now. */
async function look(days = 0): Promise<void> {
  const now = new Date(Date.now() + days * 86_400_000);
  await Promise.all([...workers, ...workers].map((worker) => worker.get(SecretReminderWorker).pass(now)));
}

/** What was sent, once all is. */
async function sent(): Promise<string[]> {
  await Promise.all(workers.map((worker) => worker.get(NotificationSenderWorker).pass()));
  await until('all sent', async () => {
    const rows = await app.query("SELECT 1 FROM notifications WHERE status <> 'SENT'");
    return rows.length === 0;
  });
  return discord.messages.map(({ content }) => content);
}

const day = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

test('V-19: one message seven days before and one on the day, whoever looks and however often', async () => {
  await app.put(id, 'API_TOKEN', 'canary-value', { expiresAt: day(30) });
  for (const days of [0, 22, 23, 23, 25, 29]) await look(days);
  expect(await sent()).toEqual([
    expect.stringMatching(new RegExp(`^The secret API_TOKEN .*${id}.* ${day(30)}, in 7 days`)),
  ]);
  for (const days of [30, 30, 31, 60]) await look(days);
  const all = await sent();
  expect(all).toHaveLength(2);
  expect(all[1]).toContain(`expires today, ${day(30)}`);
  expect(all.join()).not.toContain('canary-value');
  expect(await app.read(id)).toEqual({ API_TOKEN: 'canary-value' });
  expect(discord.messages.every(({ recipient }) => recipient === PERSON)).toBe(true);
});

test('V-19: a new value is reminded of anew, sealing is none', async () => {
  await app.put(id, 'API_TOKEN', 'one', { expiresAt: day(7), sealed: false });
  await look();
  const [entry] = await app.vault.list(app.caller, id);
  await app.vault.seal(app.caller, id, entry!.id);
  await look();
  expect(await sent()).toHaveLength(1);
  await app.put(id, 'API_TOKEN', 'two');
  await look();
  expect(await sent()).toHaveLength(2);
  await app.put(id, 'API_TOKEN', 'three', { expiresAt: null });
  await look(7);
  expect(await sent()).toHaveLength(2);
});

test('V-19: a day when nobody looked is made up for, but not told after the fact twice', async () => {
  await app.put(id, 'LATE', 'x', { expiresAt: day(10) });
  await look(5);
  expect(await sent()).toEqual([expect.stringContaining('in 5 days')]);
  await look(12);
  expect(await sent()).toEqual([expect.anything(), expect.stringContaining(`expired on ${day(10)}`)]);
  await look(2);
  await look(10);
  expect(await sent()).toHaveLength(2);
});

test('secrets of the account are reminded of, deleted ones and those without a date are not', async () => {
  const { secret } = await app.put(null, 'SHARED', 'x', { expiresAt: day(0) });
  const gone = await app.put(id, 'GONE', 'x', { expiresAt: day(0) });
  await app.put(id, 'FOREVER', 'x');
  await app.vault.delete(app.caller, id, gone.secret.id);
  await look();
  expect(await sent()).toEqual([expect.stringContaining('The secret SHARED of your account expires today')]);
  await app.vault.delete(app.caller, null, secret.id);
});
