import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../platform/auth/principal.js';
import { notFound } from '../../../platform/errors/domain-error.js';
import { ServerRepository } from '../server.repository.js';

/** How a service's program reaches its database. */
@Injectable()
export class DbConnectionService {
  constructor(private readonly servers: ServerRepository) {}

  /** No service has a database: there is no host to provision one on. */
  async get(caller: Principal, id: string): Promise<never> {
    await this.servers.findOwned(caller.accountId, id);
    throw notFound();
  }
}
