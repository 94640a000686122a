import { Account } from './account.entity.js';
import { ApiKey } from './api-key.entity.js';
import { Identity } from './identity.entity.js';
import { Plan } from './plan.entity.js';

/** The tables of this module, for whoever opens the database. */
export const ACCOUNT_ENTITIES = [Account, Plan, Identity, ApiKey];
