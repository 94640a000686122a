import { readFileSync } from 'node:fs';
import { loadConfig } from '../../src/config/config.js';
import { createDatabaseHosts } from '../../src/drivers/database-host/database-host.factory.js';
import type { DatabaseHost, HostAddress } from '../../src/drivers/database-host/database-host.js';
import { DatabasePasswords } from '../../src/modules/databases/database-passwords.js';
import { HostLinks } from '../../src/modules/databases/lifecycle/host-links.js';
import { HostRegistration, type NewHost } from '../../src/modules/databases/lifecycle/host-registration.js';
import type { Database } from '../../src/platform/database/database.js';
import { stack } from './stack.js';
import { until } from './until.js';

/** The stack's server for tenants' databases, as the platform reaches it. */
export function tenantHost(): HostAddress {
  const env = stack.env();
  return {
    address: '127.0.0.1',
    port: Number(env['TENANT_DATABASE_PORT']),
    user: env['TENANT_DATABASE_USER']!,
    password: readFileSync(env['TENANT_DATABASE_PASSWORD_FILE']!, 'utf8').trim(),
    caCertificate: null,
  };
}

export function tenantLink(): DatabaseHost {
  return createDatabaseHosts().at(tenantHost());
}

/** Registers the stack's server, or one like it, with a platform on this database. */
export class TestDatabaseHosts {
  readonly registration: HostRegistration;

  constructor(database: Database, env: Record<string, string>) {
    const passwords = new DatabasePasswords(loadConfig(env, '/dev/null'));
    this.registration = new HostRegistration(database, passwords, new HostLinks(createDatabaseHosts(), passwords));
  }

  /** Answers the host's id, by which what was made on it is found. */
  async add(changes: Partial<NewHost> = {}): Promise<string> {
    const serviceAddress = stack.env()['TENANT_DATABASE_SERVICE_ADDRESS']!;
    const host = tenantHost();
    const { id } = await this.registration.add({
      name: 'test',
      ...host,
      serviceAddress,
      servicePort: host.port,
      capacity: 100,
      ...changes,
    });
    return id;
  }

  /** The same beside a test that just shows what a server without its hardening comes to. */
  addOnceFit(): Promise<string> {
    return until('the host is hardened', () =>
      this.add().catch((error: unknown) => {
        if ((error as { code?: string }).code === 'host_not_hardened') return null;
        throw error;
      }),
    );
  }
}

/** Removes what was put on the stack's server for this host's id. */
export async function clearHost(hostId: string): Promise<void> {
  const link = tenantLink();
  // Their locks would keep the schemas.
  await link.rollBackPrepared(await link.preparedTransactions()).catch(() => undefined);
  for (const schema of await link.owned(hostId)) {
    const rest = schema.slice(1);
    await link.remove({ schema, users: [`u${rest}`, `q${rest}`] });
  }
}
