import { Injectable } from '@nestjs/common';
import {
  DatabaseHost,
  DatabaseHosts,
  type HostAddress,
  type HostedDatabase,
} from '../../../drivers/database-host/database-host.js';
import { DatabasePasswords } from '../database-passwords.js';
import { namesOf } from '../database-names.js';
import type { RegisteredHost } from '../hosts/registered-host.entity.js';
import type { ServiceDatabase } from '../service-database.entity.js';

/** The way from rows to hosts. */
@Injectable()
export class HostLinks {
  constructor(
    private readonly hosts: DatabaseHosts,
    private readonly passwords: DatabasePasswords,
  ) {}

  to(host: RegisteredHost): DatabaseHost {
    const { address, port, adminUser: user, caCertificate } = host;
    const { passwords } = this;
    return this.at({
      address,
      port,
      user,
      caCertificate,
      // Most of what is done there is not done as its administrator.
      get password() {
        return passwords.openHost(host);
      },
    });
  }

  at(address: HostAddress): DatabaseHost {
    return this.hosts.at(address);
  }

  /** As it stands on its host. */
  hosted(database: ServiceDatabase): HostedDatabase {
    const user = namesOf(database.id).program;
    return {
      ...this.forPlatform(database),
      program: { user, password: this.passwords.openProgram(database) },
    };
  }

  /** Of a database, what the platform itself needs to work in it. */
  forPlatform(database: ServiceDatabase): Pick<HostedDatabase, 'schema' | 'platform'> {
    const { schema, platform: user } = namesOf(database.id);
    return { schema, platform: { user, password: this.passwords.openPlatform(database) } };
  }
}
