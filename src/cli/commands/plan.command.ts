import { Command } from 'commander';
import type { PlanLimit } from '../../modules/accounts/plan.entity.js';
import type { PlansService } from '../../modules/accounts/plans.service.js';
import { withDatabase } from '../context.js';
import { CommandFailure } from '../failure.js';
import { print } from '../output.js';

export function planCommand(): Command {
  const plan = new Command('plan').description('plans and what they allow');

  plan
    .command('list')
    .description('all plans with their limits')
    .action(async (_options: object, command: Command) => {
      const found = await withPlans((plans) => plans.list());
      print(
        command,
        found.map((entry) => ({ ...entry })),
      );
    });

  plan
    .command('set <plan> <limit=value...>')
    .description('change limits of a plan; accounts on it are held to them at once')
    .action(async (name: string, changes: string[], _options: object, command: Command) => {
      const { PLAN_LIMITS } = await import('../../modules/accounts/plan.entity.js');
      const limits = Object.fromEntries(changes.map((change) => limitOf(change, PLAN_LIMITS)));
      print(command, { ...(await withPlans((plans) => plans.setLimits(name, limits))) });
    });

  return plan;
}

/** `storageBytes=1024`, also written `storage_bytes=1024`. */
function limitOf(change: string, known: readonly PlanLimit[]): [PlanLimit, number] {
  const [, written = '', value = ''] = /^([A-Za-z_]+)=(\d+)$/.exec(change) ?? [];
  const limit = known.find((candidate) => candidate.toLowerCase() === written.replaceAll('_', '').toLowerCase());
  if (limit === undefined)
    throw new CommandFailure(`"${change}" is not <limit>=<number>; limits are ${known.join(', ')}`);
  return [limit, Number(value)];
}

async function withPlans<T>(work: (plans: PlansService) => Promise<T>): Promise<T> {
  const { ACCOUNT_ENTITIES } = await import('../../modules/accounts/account-entities.js');
  const { PlansService } = await import('../../modules/accounts/plans.service.js');
  return withDatabase(ACCOUNT_ENTITIES, (database) => work(new PlansService(database)));
}
