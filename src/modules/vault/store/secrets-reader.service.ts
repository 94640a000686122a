import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { lengthPrefixed } from '../../../platform/crypto/length-prefixed.js';
import { Batcher } from '../../../platform/batching/batcher.js';
import { OpenedSecrets, PUT_OFF, UnchangedSecrets, type OpenedSecret } from './opened-secrets.js';
import { ScopeLoader, type LoadedRow, type LoadedScope } from './scope-loader.service.js';
import { accountScope, serverScope } from './scope-name.js';

/** A control character of a value takes so many bytes of JSON. */
const ESCAPED_BYTES = 6;

export type LoadedScopes = ReadonlyMap<string, LoadedScope | Error>;

export type SecretsAnswer = OpenedSecrets | UnchangedSecrets | typeof PUT_OFF | Error;

export interface ServiceOfAccount {
  serverId: string;
  accountId: string;
}

/** What a service reads, before it is opened. */
interface ClosedSecrets {
  serverId: string;
  state: string;
  sorted: [LoadedScope, LoadedRow][];
  /** Of JSON, at most. */
  bytes: number;
}

/** The clear values that a service reads: its own, and those of its account that it has none of its own for. */
@Injectable()
export class SecretsReader {
  private readonly batches = new Batcher((services: ServiceOfAccount[]) => this.open(services), {
    items: 200,
    atOnce: 1,
  });

  constructor(private readonly scopes: ScopeLoader) {}

  /** As they are now. What is asked for at the same moment is read once. Throws when they are refused. */
  async of(service: ServiceOfAccount): Promise<OpenedSecrets> {
    const answer = await this.batches.add(service);
    if (answer instanceof Error) throw answer;
    return answer.hold();
  }

  /** All that the services read, as it is stored; nothing is opened. */
  load(services: readonly ServiceOfAccount[]): Promise<LoadedScopes> {
    const names = services.flatMap(({ serverId, accountId }) => [serverScope(serverId), accountScope(accountId)]);
    return this.scopes.load([...new Set(names)]);
  }

  /**
   * The secrets, or why there are none, of each service in turn. Those of one service are one object; those that are in the
   * state in which they are held (by service) stay closed. Where all of them could come to more than `most` bytes of JSON,
   * the largest are put off, but never all: a few large ones keep nobody else waiting.
   */
  async read(
    services: readonly ServiceOfAccount[],
    scopes: LoadedScopes,
    holds: Readonly<Record<string, string>>,
    most = Infinity,
  ): Promise<SecretsAnswer[]> {
    const answers = new Map<string, SecretsAnswer>();
    const closed: ClosedSecrets[] = [];
    for (const service of new Map(services.map((one) => [one.serverId, one])).values()) {
      const found = find(service, scopes);
      if (found instanceof Error) answers.set(service.serverId, found);
      else if (found.state === holds[service.serverId]) answers.set(service.serverId, unchanged(found));
      else closed.push(found);
    }
    let bytes = 0;
    for (const one of closed.sort((a, b) => a.bytes - b.bytes)) {
      bytes += one.bytes;
      const fits = one === closed[0] || bytes <= most;
      answers.set(one.serverId, fits ? await this.opened(one) : PUT_OFF);
    }
    return services.map(({ serverId }) => answers.get(serverId)!);
  }

  private async open(services: readonly ServiceOfAccount[]): Promise<(OpenedSecrets | Error)[]> {
    return (await this.read(services, await this.load(services), {})) as (OpenedSecrets | Error)[];
  }

  private async opened({ sorted, state }: ClosedSecrets): Promise<OpenedSecrets | Error> {
    const secrets: OpenedSecret[] = [];
    try {
      for (const [scope, row] of sorted) {
        const { id, key } = row;
        secrets.push({ id, key, value: await this.scopes.open(scope, row) });
      }
    } catch (error) {
      for (const { value } of secrets) value.fill(0);
      return error as Error;
    }
    return new OpenedSecrets(secrets, state);
  }
}

/** The service's own secrets, and those of its account that it has none of its own for. */
function find({ serverId, accountId }: ServiceOfAccount, scopes: LoadedScopes): ClosedSecrets | Error {
  const chosen = new Map<string, [LoadedScope, LoadedRow]>();
  const parts: LoadedScope[] = [];
  for (const name of [accountScope(accountId), serverScope(serverId)]) {
    const scope = scopes.get(name);
    if (scope instanceof Error) return scope;
    if (!scope) continue;
    parts.push(scope);
    for (const row of scope.rows) if (row.ciphertext !== null) chosen.set(row.key, [scope, row]);
  }
  const sorted = [...chosen.keys()].sort().map((key) => chosen.get(key)!);
  const bytes = sorted.reduce(
    (sum, [, { key, ciphertext }]) => sum + key.length + ESCAPED_BYTES * ciphertext!.length,
    0,
  );
  return { serverId, state: stateOf(parts), sorted, bytes };
}

function unchanged({ sorted }: ClosedSecrets): UnchangedSecrets {
  return new UnchangedSecrets(sorted.map(([, { id, key }]) => ({ id, key })));
}

/** All that decides on what a service reads: the codes over its scopes, and the keys they are opened with. */
function stateOf(scopes: readonly LoadedScope[]): string {
  const fields = scopes.flatMap(({ scope: { scope, head, kekId, wrappedSeed } }) => [scope, head, kekId, wrappedSeed]);
  return createHash('sha256')
    .update(lengthPrefixed(...fields))
    .digest('base64url');
}
