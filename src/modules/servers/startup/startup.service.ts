import { Injectable } from '@nestjs/common';
import { Config } from '../../../config/config.js';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database } from '../../../platform/database/database.js';
import { badField, notFound, stateConflict } from '../../../platform/errors/domain-error.js';
import { actorOf, EventRecorder } from '../../../platform/events/event-recorder.js';
import type { StartupView, VariableView } from '../dto/server.dto.js';
import { RUNTIME_CATALOG, type VariableDefinition } from '../runtimes.js';
import { ALLOWED_ACTIONS } from '../server-status.js';
import { Server } from '../server.entity.js';
import { ServerRepository } from '../server.repository.js';
import { ServerVariable } from './server-variable.entity.js';
import { variableFault } from './variable-rules.js';

/** What a service is started with: command, image and variables. Changes take effect at the next start. */
@Injectable()
export class StartupService {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly servers: ServerRepository,
    private readonly events: EventRecorder,
  ) {}

  async get(caller: Principal, id: string): Promise<StartupView> {
    return this.view(await this.servers.findOwned(caller.accountId, id));
  }

  async setVariable(caller: Principal, id: string, key: string, value: string): Promise<VariableView> {
    return this.database.transaction(async (tx) => {
      const server = await this.servers.lockOwned(tx, caller.accountId, id);
      const definition = RUNTIME_CATALOG[server.runtime].variables.find((variable) => variable.key === key);
      if (!definition) throw notFound();
      const fault = variableFault(key, value, this.config.gitAllowFile);
      if (fault) throw badField('value', fault.code, fault.detail);
      await tx.manager.upsert(ServerVariable, { serverId: id, key, value }, { conflictPaths: ['serverId', 'key'] });
      await tx.manager.update(Server, { id }, { updatedAt: new Date() });
      // The key only: a value may hold a token of the account's.
      await this.events.record(tx, {
        accountId: server.accountId,
        resourceId: id,
        event: 'server:startup.edit',
        properties: { key },
        ...actorOf(caller),
      });
      return variableView(definition, value);
    });
  }

  async setImage(caller: Principal, id: string, image: string): Promise<StartupView> {
    const server = await this.database.transaction(async (tx) => {
      const server = await this.servers.lockOwned(tx, caller.accountId, id);
      const { images } = RUNTIME_CATALOG[server.runtime];
      if (!images.includes(image)) {
        throw badField('image', 'enum', `image must be one of ${images.join(', ')}.`, { allowed: images });
      }
      if (ALLOWED_ACTIONS[server.status].image !== 'run') throw stateConflict('image', server.status);
      await tx.manager.update(Server, { id }, { image, updatedAt: new Date() });
      await this.events.record(tx, {
        accountId: server.accountId,
        resourceId: id,
        event: 'server:startup.image',
        properties: { from: server.image, to: image },
        ...actorOf(caller),
      });
      return { ...server, image };
    });
    return this.view(server);
  }

  /** Every variable of the service with its value, the defaults included. */
  async values(server: Server): Promise<Record<string, string>> {
    const set = await this.database.manager.findBy(ServerVariable, { serverId: server.id });
    const values = new Map(set.map(({ key, value }) => [key, value]));
    return Object.fromEntries(
      RUNTIME_CATALOG[server.runtime].variables.map(({ key, defaultValue }) => [key, values.get(key) ?? defaultValue]),
    );
  }

  private async view(server: Server): Promise<StartupView> {
    const { command, images, variables } = RUNTIME_CATALOG[server.runtime];
    const values = await this.values(server);
    return {
      command,
      image: server.image,
      images: [...images],
      variables: variables.map((definition) => variableView(definition, values[definition.key]!)),
    };
  }
}

function variableView({ key, name, description, defaultValue }: VariableDefinition, value: string): VariableView {
  return { key, name, description, value, defaultValue, editable: true };
}
