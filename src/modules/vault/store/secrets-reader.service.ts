import { Injectable } from '@nestjs/common';
import { Batcher } from '../../../platform/batching/batcher.js';
import { OpenedSecrets, type OpenedSecret } from './opened-secrets.js';
import { ScopeLoader, type LoadedRow, type LoadedScope } from './scope-loader.service.js';
import { accountScope, serverScope } from './scope-name.js';

export interface ServiceOfAccount {
  serverId: string;
  accountId: string;
}

/** The clear values that a service reads: its own, and those of its account that it has none of its own for. */
@Injectable()
export class SecretsReader {
  private readonly batches = new Batcher((services: ServiceOfAccount[]) => this.read(services), {
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

  /** The secrets, or why there are none, of each service in turn. Those of one service are one object. */
  async read(services: readonly ServiceOfAccount[]): Promise<(OpenedSecrets | Error)[]> {
    const names = new Set(
      services.flatMap(({ serverId, accountId }) => [serverScope(serverId), accountScope(accountId)]),
    );
    const scopes = await this.scopes.load([...names]);
    const opened = new Map<string, OpenedSecrets | Error>();
    for (const service of services) {
      if (!opened.has(service.serverId)) opened.set(service.serverId, await this.merge(service, scopes));
    }
    return services.map(({ serverId }) => opened.get(serverId)!);
  }

  private async merge(
    { serverId, accountId }: ServiceOfAccount,
    scopes: Map<string, LoadedScope | Error>,
  ): Promise<OpenedSecrets | Error> {
    const chosen = new Map<string, [LoadedScope, LoadedRow]>();
    for (const name of [accountScope(accountId), serverScope(serverId)]) {
      const scope = scopes.get(name);
      if (scope instanceof Error) return scope;
      for (const row of scope?.rows ?? []) if (row.ciphertext !== null) chosen.set(row.key, [scope!, row]);
    }
    const secrets: OpenedSecret[] = [];
    try {
      for (const key of [...chosen.keys()].sort()) {
        const [scope, row] = chosen.get(key)!;
        secrets.push({ id: row.id, key, value: await this.scopes.open(scope, row) });
      }
    } catch (error) {
      for (const { value } of secrets) value.fill(0);
      return error as Error;
    }
    return new OpenedSecrets(secrets);
  }
}
