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
    return this.at({ address, port, user, caCertificate, password: this.passwords.openHost(host) });
  }

  at(address: HostAddress): DatabaseHost {
    return this.hosts.at(address);
  }

  /** As it stands on its host. */
  hosted(database: ServiceDatabase): HostedDatabase {
    const { schema, program, platform } = namesOf(database.id);
    return {
      schema,
      program: { user: program, password: this.passwords.openProgram(database) },
      platform: { user: platform, password: this.passwords.openPlatform(database) },
    };
  }
}
