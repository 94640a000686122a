import { Injectable } from '@nestjs/common';
import { badField, DomainError } from '../../platform/errors/domain-error.js';
import { Database, type Tx } from '../../platform/database/database.js';
import { Plan, PLAN_LIMITS, type PlanLimit, type PlanLimits } from './plan.entity.js';

/** A plan as operators see it. */
export type PlanView = { name: string } & PlanLimits;

@Injectable()
export class PlansService {
  constructor(private readonly database: Database) {}

  async list(): Promise<PlanView[]> {
    const plans = await this.database.manager.find(Plan, { order: { servers: 'ASC', id: 'ASC' } });
    return plans.map(planView);
  }

  /** Changes some limits of a plan; accounts on it are held to them from their next request on. */
  async setLimits(name: string, limits: Partial<Record<PlanLimit, number>>): Promise<PlanView> {
    for (const [limit, value] of Object.entries(limits)) {
      const max = limit.endsWith('Bytes') ? Number.MAX_SAFE_INTEGER : 2_147_483_647;
      if (!Number.isInteger(value) || value < 0 || value > max) {
        throw badField(limit, 'out_of_range', `${limit} must be an integer from 0 to ${max}.`);
      }
    }
    return this.database.transaction(async ({ manager }) => {
      await requirePlan({ manager }, name);
      if (Object.keys(limits).length > 0) await manager.update(Plan, { id: name }, limits);
      return planView(await manager.findOneByOrFail(Plan, { id: name }));
    });
  }
}

export function limitsOfPlan(plan: Plan): PlanLimits {
  return Object.fromEntries(PLAN_LIMITS.map((limit) => [limit, plan[limit]])) as PlanLimits;
}

export async function requirePlan({ manager }: Pick<Tx, 'manager'>, name: string): Promise<Plan> {
  const plan = await manager.findOneBy(Plan, { id: name });
  if (!plan) throw new DomainError('not_found', 'plan_unknown', `There is no plan "${name}".`);
  return plan;
}

function planView(plan: Plan): PlanView {
  return { name: plan.id, ...limitsOfPlan(plan) };
}
