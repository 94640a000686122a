import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import type { Tx } from '../../../platform/database/database.js';
import { conflict } from '../../../platform/errors/domain-error.js';
import { DomainCheck, type DomainProof } from './domain-check.service.js';
import { DomainClaim } from './domain-claim.entity.js';
import { withParents } from './domain-name.js';

/** For how long a domain whose site is gone is not given to others who cannot prove it to be theirs. */
export const TOMBSTONE_MS = 30 * 24 * 3_600_000;

export interface Claimant {
  domain: string;
  accountId: string;
  /** Whether a TXT record proves the domain to be the account's. */
  proven: boolean;
}

/** Keeps domains from being taken by whoever comes first while the DNS still points here. */
@Injectable()
export class DomainClaims {
  constructor(private readonly check: DomainCheck) {}

  /**
   * Makes the domain the account's; a 409 where it is, or was a while ago, another one's. Whoever proves it takes it from who
   * cannot: answers whether there is a site of another account that is to go.
   */
  async claim(tx: Tx, { domain, accountId, proven }: Claimant, now: Date): Promise<{ takenOver: boolean }> {
    const claims = await tx.manager.find(DomainClaim, {
      where: { domain: In(withParents(domain)) },
      lock: { mode: 'pessimistic_write' },
    });
    const living = claims.filter(({ releasedAt }) => releasedAt === null || +now - +releasedAt < TOMBSTONE_MS);
    const verification = this.check.proofOf(domain, accountId);
    let takenOver = false;
    for (const claim of living) {
      if (claim.accountId === accountId) continue;
      if (claim.domain !== domain) {
        if (claim.verifiedAt === null) continue;
        throw conflict(
          'domain_locked',
          `${claim.domain} is proven to be another account's, and so is what is below it.`,
        );
      }
      if (claim.releasedAt === null) {
        if (claim.verifiedAt !== null) throw domainTaken();
        if (!proven) throw domainTaken({ verification });
        takenOver = true;
      } else if (!proven) {
        throw conflict(
          'domain_held',
          `The domain had a site of another account until lately. Prove that it is yours by a TXT record, or wait.`,
          { verification, heldUntil: new Date(+claim.releasedAt + TOMBSTONE_MS) },
        );
      }
    }
    const before = claims.find((claim) => claim.domain === domain && claim.accountId === accountId);
    const verifiedAt = proven ? now : (before?.verifiedAt ?? null);
    await tx.manager.upsert(DomainClaim, { domain, accountId, verifiedAt, releasedAt: null }, ['domain']);
    return { takenOver };
  }

  /** From now on it only keeps others away. */
  async release(tx: Tx, domain: string, now: Date): Promise<void> {
    await tx.manager.update(DomainClaim, { domain }, { releasedAt: now });
  }
}

/** `verification`: the record by which it can be had all the same. */
export function domainTaken(members: { verification?: DomainProof } = {}): Error {
  const advice = members.verification
    ? ' If it is yours, prove that by a TXT record, and it is taken from that site.'
    : '';
  return conflict('domain_taken', `The domain has a site already.${advice}`, members);
}
