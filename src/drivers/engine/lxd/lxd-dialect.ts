/** Where LXD and Incus differ. */
export interface LxdDialect {
  kind: 'lxd' | 'incus';
  headerPrefix: 'X-LXD-' | 'X-Incus-';
  /** Config key of the socket through which a guest may talk to the engine. */
  guestApiKey: 'security.devlxd' | 'security.guestapi';
}

export interface LxdServer {
  api_extensions: string[];
  environment: {
    server: string;
    server_version: string;
    server_name: string;
    storage_supported_drivers: { Name: string }[] | null;
  };
}

export function dialectOf(server: LxdServer): LxdDialect {
  return server.environment.server === 'incus'
    ? { kind: 'incus', headerPrefix: 'X-Incus-', guestApiKey: 'security.guestapi' }
    : { kind: 'lxd', headerPrefix: 'X-LXD-', guestApiKey: 'security.devlxd' };
}
