import { readFileSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';

export interface LxdCredentials {
  clientCertFile?: string | null;
  clientKeyFile?: string | null;
  /** The engine's own certificate, or that of the authority which signed it. */
  caFile?: string | null;
}

/** Where the engine listens, in the forms that the HTTP client and the WebSocket client take. */
export interface LxdEndpoint {
  origin: string;
  connect: Record<string, unknown>;
  webSocketUrl(path: string): string;
  webSocketOptions: Record<string, unknown>;
}

export function lxdEndpoint(url: string, credentials: LxdCredentials): LxdEndpoint {
  if (url.startsWith('unix:')) {
    const socketPath = url.slice('unix:'.length).replace(/^\/\/(?=\/)/, '');
    return {
      origin: 'http://engine',
      connect: { socketPath },
      webSocketUrl: (path) => `ws+unix:${socketPath}:${path}`,
      webSocketOptions: {},
    };
  }
  const { host } = new URL(url);
  const tls = tlsOptions(credentials);
  return {
    origin: `https://${host}`,
    connect: tls,
    webSocketUrl: (path) => `wss://${host}${path}`,
    webSocketOptions: tls,
  };
}

function tlsOptions({ clientCertFile, clientKeyFile, caFile }: LxdCredentials): Record<string, unknown> {
  if (!clientCertFile || !clientKeyFile || !caFile) {
    throw new Error(
      'An engine over HTTPS needs a client certificate, its key, and the certificate to know the engine by',
    );
  }
  const ca = readFileSync(caFile);
  const pinned = new X509Certificate(ca).raw;
  return {
    cert: readFileSync(clientCertFile),
    key: readFileSync(clientKeyFile),
    ca,
    // An engine's self-made certificate names what the machine was called then; having it pinned says more.
    checkServerIdentity: (name: string, certificate: PeerCertificate) =>
      certificate.raw.equals(pinned) ? undefined : checkServerIdentity(name, certificate),
  };
}
