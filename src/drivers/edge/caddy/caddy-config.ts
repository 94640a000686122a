import type { EdgeSettings } from '../edge.js';

/** `adminUrl` as Caddy spells addresses to listen on. */
export function adminListener(adminUrl: string): string {
  return adminUrl.startsWith('unix:') ? `unix/${adminUrl.slice('unix:'.length)}` : new URL(adminUrl).host;
}

/** It would ask for gzip where readers do not, and unpack it on the way: without a length, under the tag of what was packed. */
const TRANSPORT = { protocol: 'http', compression: false };

/** All that Caddy is told. Nothing in it depends on the sites: whether a host is one, it asks. */
export function caddyConfig(adminUrl: string, settings: EdgeSettings): object {
  const { host, httpsPort, originPort, logPort, storageDir } = settings;
  const origin = `127.0.0.1:${originPort}`;
  return {
    // The platform brings its settings in again after a start, and nothing else may.
    admin: { listen: adminListener(adminUrl), config: { persist: false } },
    storage: { module: 'file_system', root: storageDir },
    logging: {
      logs: {
        default: {
          level: 'INFO',
          encoder: { format: 'json' },
          writer: { output: 'net', address: `tcp/127.0.0.1:${logPort}` },
        },
      },
    },
    apps: {
      http: {
        https_port: httpsPort,
        grace_period: '10s',
        servers: {
          sites: {
            listen: [listenAddress(host, httpsPort)],
            protocols: ['h1', 'h2'],
            // Plain HTTP is answered by the origin itself.
            automatic_https: { disable_redirects: true },
            tls_connection_policies: [{}],
            read_header_timeout: '15s',
            idle_timeout: '2m',
            max_header_bytes: 16_384,
            routes: [{ handle: [{ handler: 'reverse_proxy', upstreams: [{ dial: origin }], transport: TRANSPORT }] }],
          },
        },
      },
      tls: {
        automation: {
          on_demand: { ask: `http://${origin}/tls/ask` },
          policies: [{ on_demand: true, issuers: [acmeIssuer(settings)] }],
        },
      },
    },
  };
}

function acmeIssuer({ host, httpsPort, acmeDirectory, acmeCaFile, acmeEmail }: EdgeSettings): object {
  return {
    module: 'acme',
    ca: acmeDirectory,
    ...(acmeEmail === undefined ? {} : { email: acmeEmail }),
    ...(acmeCaFile === undefined ? {} : { trusted_roots_pem_files: [acmeCaFile] }),
    challenges: {
      // The one that needs nothing but the port that is served anyway.
      http: { disabled: true },
      'tls-alpn': { alternate_port: httpsPort },
      bind_host: host,
    },
  };
}

function listenAddress(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
