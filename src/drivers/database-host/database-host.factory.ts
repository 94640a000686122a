import { DatabaseHosts, type DatabaseHost, type HostAddress } from './database-host.js';
import { MariaDbHost } from './mariadb/mariadb-host.js';

class MariaDbHosts extends DatabaseHosts {
  override at(address: HostAddress): DatabaseHost {
    return new MariaDbHost(address);
  }
}

export function createDatabaseHosts(): DatabaseHosts {
  return new MariaDbHosts();
}
