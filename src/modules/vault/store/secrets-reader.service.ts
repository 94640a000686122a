import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { lengthPrefixed } from '../../../platform/crypto/length-prefixed.js';
import { Batcher } from '../../../platform/batching/batcher.js';
import { OpenedSecrets, UnchangedSecrets, type OpenedSecret } from './opened-secrets.js';
import { ScopeLoader, type LoadedRow, type LoadedScope } from './scope-loader.service.js';
import { accountScope, serverScope } from './scope-name.js';

export type LoadedScopes = ReadonlyMap<string, LoadedScope | Error>;

export interface ServiceOfAccount {
  serverId: string;
  accountId: string;
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
   * state in which they are held (by service) stay closed.
   */
  async read(
    services: readonly ServiceOfAccount[],
    scopes: LoadedScopes,
    holds: Readonly<Record<string, string>>,
  ): Promise<(OpenedSecrets | UnchangedSecrets | Error)[]> {
    const answers = new Map<string, OpenedSecrets | UnchangedSecrets | Error>();
    for (const service of services) {
      const { serverId } = service;
      if (!answers.has(serverId)) answers.set(serverId, await this.merge(service, scopes, holds[serverId]));
    }
    return services.map(({ serverId }) => answers.get(serverId)!);
  }

  private async open(services: readonly ServiceOfAccount[]): Promise<(OpenedSecrets | Error)[]> {
    return (await this.read(services, await this.load(services), {})) as (OpenedSecrets | Error)[];
  }

  private async merge(
    { serverId, accountId }: ServiceOfAccount,
    scopes: LoadedScopes,
    held: string | undefined,
  ): Promise<OpenedSecrets | UnchangedSecrets | Error> {
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
    const state = stateOf(parts);
    if (state === held) return new UnchangedSecrets(sorted.map(([, { id, key }]) => ({ id, key })));
    const secrets: OpenedSecret[] = [];
    try {
      for (const [scope, row] of sorted) {
        const { key } = row;
        secrets.push({ id: row.id, key, value: await this.scopes.open(scope, row) });
      }
    } catch (error) {
      for (const { value } of secrets) value.fill(0);
      return error as Error;
    }
    return new OpenedSecrets(secrets, state);
  }
}

/** All that decides on what a service reads: the codes over its scopes, and the keys they are opened with. */
function stateOf(scopes: readonly LoadedScope[]): string {
  const fields = scopes.flatMap(({ scope: { scope, head, kekId, wrappedSeed } }) => [scope, head, kekId, wrappedSeed]);
  return createHash('sha256')
    .update(lengthPrefixed(...fields))
    .digest('base64url');
}
