import { Injectable } from '@nestjs/common';
import { isIP } from 'node:net';
import type { HostAddress, HostReport } from '../../../drivers/database-host/database-host.js';
import { Database } from '../../../platform/database/database.js';
import { badField, conflict, notFound } from '../../../platform/errors/domain-error.js';
import { newId } from '../../../platform/ids/id.js';
import { truncate } from '../../../platform/text/truncate.js';
import { DatabasePasswords } from '../database-passwords.js';
import { RegisteredHost } from '../hosts/registered-host.entity.js';
import { ServiceDatabase } from '../service-database.entity.js';
import { HostLinks } from './host-links.js';

/** Sessions that a database's two accounts may have together, and what is kept free for the platform itself. */
const SESSIONS_EACH = 23;
const SESSIONS_KEPT = 20;

export interface NewHost extends HostAddress {
  name: string;
  serviceAddress: string;
  servicePort: number;
  capacity: number;
}

/** A host as operators see it. */
export interface HostView {
  id: string;
  name: string;
  address: string;
  port: number;
  serviceAddress: string;
  servicePort: number;
  encrypted: boolean;
  capacity: number;
  databases: number;
  fault: string | null;
  checkedAt: Date | null;
}

/** Which servers tenants' databases live on. */
@Injectable()
export class HostRegistration {
  constructor(
    private readonly database: Database,
    private readonly passwords: DatabasePasswords,
    private readonly links: HostLinks,
  ) {}

  /** Makes a host known, or puts right what is known of the one with that name. Refuses one that is not hardened. */
  async add(wanted: NewHost): Promise<HostView> {
    checkForm(wanted);
    const link = this.links.at(wanted);
    const report = await link.inspect();
    await this.mustBeFit(report, wanted);
    await link.prepare();
    const id = await this.database.transaction(async ({ manager }) => {
      const known = await manager.findOneBy(RegisteredHost, { name: wanted.name });
      const id = known?.id ?? newId('dbh');
      const { name, address, port, serviceAddress, servicePort, user: adminUser, caCertificate, capacity } = wanted;
      const fields = { name, address, port, serviceAddress, servicePort, adminUser, caCertificate, capacity };
      const sealedPassword = this.passwords.sealHost(wanted.password, id);
      const state = { ...fields, sealedPassword, fault: null, checkedAt: new Date() };
      if (known) await manager.update(RegisteredHost, { id }, state);
      else await manager.insert(RegisteredHost, { id, ...state, createdAt: new Date() });
      return id;
    });
    return (await this.list()).find((host) => host.id === id)!;
  }

  async list(): Promise<HostView[]> {
    const { manager } = this.database;
    const hosts = await manager.find(RegisteredHost, { order: { id: 'ASC' } });
    return Promise.all(
      hosts.map(async (host) => viewOf(host, await manager.countBy(ServiceDatabase, { hostId: host.id }))),
    );
  }

  /** Forgets a host that no database lives on. */
  async remove(name: string): Promise<HostView> {
    return this.database.transaction(async ({ manager }) => {
      const host = await manager.findOne(RegisteredHost, { where: { name }, lock: { mode: 'pessimistic_write' } });
      if (!host) throw notFound();
      const databases = await manager.countBy(ServiceDatabase, { hostId: host.id });
      if (databases > 0) throw conflict('host_in_use', `${databases} databases live on ${name}.`);
      await manager.delete(RegisteredHost, { id: host.id });
      return viewOf(host, 0);
    });
  }

  /** Looks at a host now and notes what is wrong with it; answers it as it stands then. */
  async check(name: string): Promise<HostView> {
    const host = await this.database.manager.findOneBy(RegisteredHost, { name });
    if (!host) throw notFound();
    await this.inspect(host);
    return (await this.list()).find(({ id }) => id === host.id)!;
  }

  /** Nothing new is put on a host that is away or not hardened. */
  async inspect(host: RegisteredHost): Promise<string | null> {
    let fault: string | null;
    try {
      const report = await this.links.to(host).inspect();
      fault = report.faults.join('; ') || null;
    } catch (error) {
      fault = (error as Error).message;
    }
    fault = fault && truncate(fault, 500);
    await this.database.manager.update(RegisteredHost, { id: host.id }, { fault, checkedAt: new Date() });
    return fault;
  }

  private async mustBeFit({ faults, identity, maxConnections }: HostReport, wanted: NewHost): Promise<void> {
    if (faults.length > 0) {
      throw conflict('host_not_hardened', `The database host is not hardened: ${faults.join('; ')}.`);
    }
    if (identity === (await this.ownIdentity())) {
      throw conflict('own_database', "The platform's own database server is no host for tenants' databases.");
    }
    const most = Math.floor((maxConnections - SESSIONS_KEPT) / SESSIONS_EACH);
    if (wanted.capacity > most) {
      throw badField('capacity', 'max', `with max_connections=${maxConnections} there is room for ${most} databases`);
    }
  }

  private async ownIdentity(): Promise<string> {
    const [row] = await this.database.manager.query<Record<string, string>[]>(
      "SELECT CONCAT_WS(' ', @@hostname, @@datadir, @@pid_file) AS identity",
    );
    return row!['identity']!;
  }
}

function checkForm({ name, address, port, serviceAddress, servicePort, capacity, caCertificate }: NewHost): void {
  const hostName = /^[a-zA-Z0-9]([a-zA-Z0-9.:-]{0,252}[a-zA-Z0-9])?$/;
  const isPort = (value: number): boolean => Number.isInteger(value) && value > 0 && value < 65_536;
  const faults: [boolean, string, string][] = [
    [/^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/.test(name), 'name', 'the name is of a-z, 0-9 and -, at most 64'],
    [hostName.test(address), 'host', 'the host is a name or an address'],
    [hostName.test(serviceAddress), 'service-host', 'the service host is a name or an address'],
    [isPort(port) && isPort(servicePort), 'port', 'ports are 1 to 65535'],
    [Number.isInteger(capacity) && capacity > 0, 'capacity', 'the capacity is a number above 0'],
    [
      caCertificate !== null || isLoopback(address),
      'ca-file',
      'a host on another machine needs a certificate to check it by',
    ],
  ];
  for (const [holds, field, detail] of faults) if (!holds) throw badField(field, 'form', detail);
}

function isLoopback(address: string): boolean {
  return address === 'localhost' || address === '::1' || (isIP(address) === 4 && address.startsWith('127.'));
}

function viewOf(host: RegisteredHost, databases: number): HostView {
  const { id, name, address, port, serviceAddress, servicePort, capacity, fault, checkedAt } = host;
  const encrypted = host.caCertificate !== null;
  return { id, name, address, port, serviceAddress, servicePort, encrypted, capacity, databases, fault, checkedAt };
}
