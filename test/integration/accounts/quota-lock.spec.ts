import { AccountsService } from '../../../src/modules/accounts/accounts.service.js';
import { PlansService } from '../../../src/modules/accounts/plans.service.js';
import { QuotaLock } from '../../../src/modules/accounts/quota-lock.service.js';
import { TestDatabase } from '../../support/database.js';
import { ENTITIES } from './account-app.js';

let db: TestDatabase;
const lock = new QuotaLock();

beforeAll(async () => {
  db = await TestDatabase.create(ENTITIES);
});

afterAll(() => db.drop());

function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

test('who counts for an account waits for whoever does, others on the same plan do not', async () => {
  const accounts = new AccountsService(db.database);
  const [one, other] = await Promise.all(
    ['one', 'other'].map((name) => accounts.create({ username: name, email: `${name}@example.test` })),
  );
  const order: string[] = [];
  const held = gate();
  const release = gate();
  const first = db.database.transaction(async (tx) => {
    await lock.acquire(tx, one!.id);
    held.open();
    await release.opened;
    order.push('first');
  });
  await held.opened;
  const second = db.database.transaction(async (tx) => {
    await lock.acquire(tx, one!.id);
    order.push('second');
  });
  await db.database.transaction(async (tx) => {
    await lock.acquire(tx, other!.id);
    order.push('another account');
  });
  release.open();
  await Promise.all([first, second]);
  expect(order).toEqual(['another account', 'first', 'second']);
});

test('the limits are those of the plan as it is now', async () => {
  const accounts = new AccountsService(db.database);
  const { id } = await accounts.create({ username: 'limited', email: 'limited@example.test' });
  const limits = () => db.database.transaction((tx) => lock.acquire(tx, id));
  expect(await limits()).toMatchObject({ servers: 2, ram: 1024, storageBytes: 1_073_741_824 });
  await new PlansService(db.database).setLimits('free', { servers: 9 });
  expect(await limits()).toMatchObject({ servers: 9, ram: 1024 });
  await accounts.setPlan('limited', 'pro');
  expect(await limits()).toMatchObject({ servers: 20, storageBytes: 53_687_091_200 });
});

test('an account that does not exist is a 404', async () => {
  const missing = db.database.transaction((tx) => lock.acquire(tx, 'usr_01j9z6m3k4v5w6x7y8z9a0b1c2'));
  await expect(missing).rejects.toMatchObject({ kind: 'not_found' });
});
