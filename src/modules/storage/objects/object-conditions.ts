import type { IncomingHttpHeaders } from 'node:http';
import { DomainError } from '../../../platform/errors/domain-error.js';
import { judgeConditions } from '../../../platform/http/conditions.js';
import type { StoredObject } from './stored-object.entity.js';

/** Refuses a change with 412 where its conditions do not hold of what is under the key; null for nothing. */
export function mustHold(method: 'PUT' | 'DELETE', headers: IncomingHttpHeaders, before: StoredObject | null): void {
  if (judgeConditions(method, headers, before) === 'go_on') return;
  throw new DomainError('precondition_failed', 'precondition_failed', 'What is under the key is not what you expect.');
}
