import { randomBytes } from 'node:crypto';
import type { Berth, TestAccount } from './app.js';

/** Puts the account on a plan of its own: the `pro` one, but for these limits. */
export async function setLimits(
  { database }: Pick<Berth, 'database'>,
  account: Pick<TestAccount, 'id'>,
  limits: Record<string, number>,
): Promise<void> {
  const [pro] = await database.query("SELECT * FROM plans WHERE id = 'pro'");
  const plan: Record<string, unknown> = { ...pro, ...limits, id: `own-${randomBytes(6).toString('hex')}` };
  await database.query('INSERT INTO plans (??) VALUES (?)', [Object.keys(plan), Object.values(plan)]);
  await database.query('UPDATE accounts SET plan_id = ? WHERE id = ?', [plan['id'], account.id]);
}
