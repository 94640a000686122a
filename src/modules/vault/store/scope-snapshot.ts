import type { KeyObject } from 'node:crypto';
import { headOf, sameHead, type HeadRow } from './scope-head.js';
import type { IncidentKind } from './vault-incident.entity.js';
import type { VaultScope } from './vault-scope.entity.js';

export type SnapshotScope = Pick<
  VaultScope,
  'scope' | 'kekId' | 'wrappedSeed' | 'generation' | 'epoch' | 'versionFloor' | 'head'
>;

/** A scope and all its rows as they stood at one moment. */
export interface ScopeSnapshot<R extends HeadRow = HeadRow> {
  scope: SnapshotScope;
  rows: R[];
}

/** What is wrong with a scope; null when it is as the platform left it. `floor` is what the anchor knew before it was read. */
export function faultOf(headKey: KeyObject, { scope, rows }: ScopeSnapshot, floor: number): IncidentKind | null {
  if (!sameHead(scope.head, headOf(headKey, scope, rows))) return 'HEAD_MISMATCH';
  return scope.epoch < floor ? 'EPOCH_ROLLBACK' : null;
}

/** Found within a transaction; told to the operators once that has been given up. */
export class ScopeFault extends Error {
  constructor(readonly kind: IncidentKind) {
    super(kind);
  }
}
