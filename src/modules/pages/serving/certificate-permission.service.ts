import { Injectable } from '@nestjs/common';
import { Batcher } from '../../../platform/batching/batcher.js';
import { Database } from '../../../platform/database/database.js';
import { hostOf } from '../domains/domain-name.js';

const LIMITS = { items: 128, atOnce: 2 };

/**
 * Who may have a certificate: active sites whose domains still point here, and of those that have none the ones that are being
 * seen to. A visitor's handshake orders nothing, as authorities count the orders of all accounts together. Whoever names other
 * hosts costs us one query at most.
 */
@Injectable()
export class CertificatePermission {
  private readonly questions = new Batcher<string, boolean>((domains) => this.ask(domains), LIMITS);

  constructor(private readonly database: Database) {}

  async mayHave(domain: string): Promise<boolean> {
    return hostOf(domain) === domain && (await this.questions.add(domain));
  }

  private async ask(domains: string[]): Promise<boolean[]> {
    const now = new Date();
    const rows = await this.database.manager.query<{ domain: string }[]>(
      `SELECT s.domain FROM sites s JOIN accounts a ON a.id = s.account_id AND a.status = 'active'
        WHERE s.domain IN (${domains.map(() => '?').join(', ')})
          AND s.active = 1 AND s.deleted_at IS NULL AND s.dns_lost_at IS NULL
          AND (s.tls_not_after > ? OR s.tls_order_until > ?)`,
      [...domains, now, now],
    );
    const allowed = new Set(rows.map(({ domain }) => domain));
    return domains.map((domain) => allowed.has(domain));
  }
}
