import { Injectable } from '@nestjs/common';
import type { Counter } from 'prom-client';
import { Database } from '../../../platform/database/database.js';
import { DomainError } from '../../../platform/errors/domain-error.js';
import { newId } from '../../../platform/ids/id.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import { Metrics } from '../../../platform/observability/metrics.js';
import { VaultIncident, type IncidentKind } from './vault-incident.entity.js';

/** A fault that goes on is one incident for so long. */
const SAME_MS = 600_000;
const KEPT = 10_000;

/** The secrets of a scope are refused. */
export class VaultIntegrityError extends DomainError {
  constructor(readonly incident: string) {
    super('unavailable', 'vault_integrity', 'The secrets are not available; the operator has been told.', {
      members: { incident },
      retryAfterSeconds: 60,
    });
  }
}

/** Tells the operators of a vault that is not as the platform left it. */
@Injectable()
export class VaultIncidents {
  private readonly known = new Map<string, { id: string; at: number }>();
  private readonly counter: Counter<'kind'>;

  constructor(
    private readonly database: Database,
    private readonly log: AppLogger,
    metrics: Metrics,
  ) {
    this.counter = metrics.counter('berth_vault_incidents_total', 'Reads refused as the vault is not as it was left', [
      'kind',
    ]);
  }

  /** The error to answer with. It is told apart from others by its id alone. */
  async refuse(scope: string, kind: IncidentKind): Promise<VaultIntegrityError> {
    this.counter.inc({ kind });
    const name = `${scope} ${kind}`;
    const known = this.known.get(name);
    if (known && Date.now() - known.at < SAME_MS) return new VaultIntegrityError(known.id);
    const id = newId('inc');
    this.known.set(name, { id, at: Date.now() });
    if (this.known.size > KEPT) this.known.delete(this.known.keys().next().value!);
    this.log.error({ incident: id, scope, kind }, 'The vault is not as it was left: its secrets are refused');
    try {
      await this.database.manager.insert(VaultIncident, { id, scope, kind, detail: '', createdAt: new Date() });
    } catch (err) {
      this.log.error({ err, incident: id }, 'The incident could not be written down');
    }
    return new VaultIntegrityError(id);
  }
}
