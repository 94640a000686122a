import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Database } from '../../../platform/database/database.js';
import type {
  PutOff,
  ServedRead,
  ServiceSecrets,
  VaultRead,
  VaultReadsAnswer,
  VaultReadsRequest,
  VaultRefusal,
} from '../../../platform/internal-api/vault-reads.contract.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import { ServerDirectory, type ServerStanding } from '../../servers/server-directory.service.js';
import { LastReads } from '../store/last-reads.service.js';
import { OpenedSecrets, PUT_OFF, UnchangedSecrets } from '../store/opened-secrets.js';
import { accountScope, serverScope } from '../store/scope-name.js';
import { SecretsReader, type LoadedScopes, type SecretsAnswer } from '../store/secrets-reader.service.js';
import { VaultIntegrityError } from '../store/vault-incidents.service.js';
import type { NewRead } from './new-read.js';
import { ReadLog } from './read-log.service.js';

/** States in which a service's program may run. */
const MAY_RUN = new Set<ServerStanding['status']>(['INSTALLING', 'STARTING', 'RUNNING', 'REINSTALLING']);

const KEPT_OWNERS = 10_000;

/** How long before now a node may say that a program asked. */
const LATE_MS = 60_000;

/** What secrets may come to in one answer, as JSON; those of one service may be more. */
const MOST_BYTES = 8 * 1024 * 1024;

type Verdict = OpenedSecrets | UnchangedSecrets | PutOff | { refused: VaultRefusal; incident?: string };
type Services = VaultReadsAnswer['services'];
type Holds = VaultReadsRequest['holds'];

/**
 * What nodes ask for their programs. A node is told nothing of services that are not its own, and of those only what the
 * ledger of addresses and the service's state bear out.
 */
@Injectable()
export class NodeReads {
  /** Whose the services are that were asked for last; that never changes. */
  private readonly owners = new LRUCache<string, string>({ max: KEPT_OWNERS });

  constructor(
    private readonly database: Database,
    private readonly servers: ServerDirectory,
    private readonly secrets: SecretsReader,
    private readonly log: ReadLog,
    private readonly lastReads: LastReads,
    private readonly logger: AppLogger,
  ) {}

  /** Recorded as a whole before it is answered, but for what is put off: that is asked for again, and recorded then. */
  async answer(nodeId: string, reads: readonly VaultRead[], holds: Holds): Promise<VaultReadsAnswer> {
    const [standing, scopes] = await this.look(nodeId, serverIdsOf(reads));
    const verdicts = await this.judge(reads, standing, scopes, holds);
    const served = [...verdicts.values()].filter(isServed);
    try {
      const due = reads.filter((read) => standing.has(read.serverId) && !isPutOff(read, verdicts));
      await this.log.recordAll(
        due.map((read) => recordOf(read, standing.get(read.serverId)!, verdicts.get(read.serverId))),
      );
      this.lastReads.note(served.flatMap(({ secrets }) => secrets.map(({ id }) => id)));
      const services: Services = {};
      for (const [serverId, verdict] of verdicts) services[serverId] = answerOf(verdict);
      return { services };
    } finally {
      for (const secrets of served) if (secrets instanceof OpenedSecrets) secrets.release();
    }
  }

  /** Reads that were answered while we were away. */
  async served(nodeId: string, reads: readonly ServedRead[]): Promise<void> {
    const standing = await this.servers.onNode(nodeId, serverIdsOf(reads));
    const known = reads.filter(({ serverId }) => standing.has(serverId));
    await this.log.recordAll(
      known.map((read) => ({
        ...shared(read, standing.get(read.serverId)!),
        keys: read.keys,
        refused: read.refused,
        at: momentOf(read.at),
      })),
    );
    for (const read of known) await this.noteServed(standing.get(read.serverId)!, read);
  }

  /** How the services stand, and their secrets as they are stored; where it is known whose they are, both are asked at once. */
  private async look(nodeId: string, ids: string[]): Promise<[Map<string, ServerStanding>, LoadedScopes]> {
    const known = ids.flatMap((serverId) => {
      const accountId = this.owners.get(serverId);
      return accountId === undefined ? [] : [{ serverId, accountId }];
    });
    if (known.length === ids.length) return Promise.all([this.servers.onNode(nodeId, ids), this.secrets.load(known)]);
    const standing = await this.servers.onNode(nodeId, ids);
    const services = [...standing.values()].map(({ id, accountId }) => ({ serverId: id, accountId }));
    for (const { serverId, accountId } of services) this.owners.set(serverId, accountId);
    return [standing, await this.secrets.load(services)];
  }

  /** By service that secrets were asked for. One read that may not be answered spoils it for all of its service. */
  private async judge(
    reads: readonly VaultRead[],
    standing: Map<string, ServerStanding>,
    scopes: LoadedScopes,
    holds: Holds,
  ): Promise<Map<string, Verdict>> {
    const verdicts = new Map<string, Verdict>();
    const wanted = new Map<string, ServerStanding>();
    for (const { serverId, address, refused } of reads) {
      if (refused !== null) continue;
      const service = standing.get(serverId);
      if (service && MAY_RUN.has(service.status) && service.address === address) wanted.set(serverId, service);
      else verdicts.set(serverId, { refused: 'unknown' });
    }
    const asked = [...wanted.values()].filter(({ id }) => !verdicts.has(id));
    const may = asked.filter(({ suspended }) => !suspended);
    for (const { id, suspended } of asked) if (suspended) verdicts.set(id, { refused: 'suspended' });
    const services = may.map(({ id, accountId }) => ({ serverId: id, accountId }));
    const answers = await this.secrets.read(services, scopes, holds, MOST_BYTES);
    may.forEach(({ id }, index) => verdicts.set(id, this.verdictOf(id, answers[index]!)));
    return verdicts;
  }

  /** What one service fails with is its own affair, and not that of those asked for beside it. */
  private verdictOf(serverId: string, answer: SecretsAnswer): Verdict {
    if (answer instanceof OpenedSecrets) return answer.hold();
    if (answer === PUT_OFF) return { putOff: true };
    if (answer instanceof UnchangedSecrets) return answer;
    if (answer instanceof VaultIntegrityError) return { refused: 'integrity', incident: answer.incident };
    this.logger.error({ err: answer, serverId }, 'The secrets of a service could not be opened');
    return { refused: 'unavailable' };
  }

  private async noteServed({ id, accountId }: ServerStanding, read: ServedRead): Promise<void> {
    if (read.refused !== null || read.keys.length === 0) return;
    const rows = await this.database.manager.query<{ id: string; keyName: string; scope: string }[]>(
      `SELECT id, key_name AS keyName, scope FROM vault_secrets
        WHERE scope IN (?) AND key_name IN (?) AND deleted_at IS NULL`,
      [[serverScope(id), accountScope(accountId)], read.keys],
    );
    const own = new Set(rows.filter(({ scope }) => scope === serverScope(id)).map(({ keyName }) => keyName));
    const meant = rows.filter(({ scope, keyName }) => scope === serverScope(id) || !own.has(keyName));
    this.lastReads.note(
      meant.map((row) => row.id),
      momentOf(read.at).getTime(),
    );
  }
}

function serverIdsOf(reads: readonly VaultRead[]): string[] {
  return [...new Set(reads.map(({ serverId }) => serverId))];
}

function shared({ id, address }: VaultRead, service: ServerStanding): Omit<NewRead, 'refused' | 'keys'> {
  return { readId: id, serverId: service.id, accountId: service.accountId, via: 'broker', address };
}

function recordOf(read: VaultRead, service: ServerStanding, verdict: Verdict | undefined): NewRead {
  const refused = read.refused ?? (verdict && 'refused' in verdict ? verdict.refused : null);
  const keys = refused === null && verdict && isServed(verdict) ? verdict.keys : [];
  const earliest = Date.now() - LATE_MS;
  const at = momentOf(read.at);
  return { ...shared(read, service), refused, keys, at: at.getTime() < earliest ? new Date() : at };
}

/** A node's clock may be ahead; nothing was read in the future. */
function momentOf(text: string): Date {
  return new Date(Math.min(Date.parse(text), Date.now()));
}

function isServed(verdict: Verdict): verdict is OpenedSecrets | UnchangedSecrets {
  return verdict instanceof OpenedSecrets || verdict instanceof UnchangedSecrets;
}

function isPutOff({ serverId, refused }: VaultRead, verdicts: ReadonlyMap<string, Verdict>): boolean {
  const verdict = verdicts.get(serverId);
  return refused === null && verdict !== undefined && 'putOff' in verdict;
}

function answerOf(verdict: Verdict): Services[string] {
  if (verdict instanceof UnchangedSecrets) return { unchanged: true };
  return verdict instanceof OpenedSecrets ? clear(verdict) : verdict;
}

function clear({ state, secrets }: OpenedSecrets): ServiceSecrets {
  return { state, secrets: secrets.map(({ key, value }) => ({ key, value: value.toString('utf8') })) };
}
