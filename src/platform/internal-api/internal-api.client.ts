import { request } from 'undici';
import type {
  FirewallAnswer,
  InstanceEnd,
  InstanceStoppedAnswer,
  LiveSession,
  NodeActivity,
  NodePower,
  NodeReport,
  NodeReportAnswer,
  SessionsAnswer,
  SftpLogin,
  SftpLoginAnswer,
} from './internal-api.contract.js';
import type {
  ServedRead,
  VaultRead,
  VaultReadsAnswer,
  VaultReadsRequest,
  VaultServedRequest,
} from './vault-reads.contract.js';

const TIMEOUT_MS = 10_000;
/** A program waits meanwhile, and there is a way without the control plane. */
const VAULT_TIMEOUT_MS = 3000;

/** The control plane was reached and said no. */
export class InternalApiRefusal extends Error {
  constructor(
    readonly status: number,
    path: string,
    /** Its words for whoever asked, where it had some. */
    readonly detail: string | null = null,
  ) {
    super(`The control plane answered ${status} to ${path}`);
  }
}

/** The node's way to the control plane, with the node's token. Throws when it cannot be reached or refuses. */
export class InternalApiClient {
  constructor(
    private readonly baseUrl: string,
    private readonly token: string,
  ) {}

  report(report: NodeReport): Promise<NodeReportAnswer> {
    return this.post('/internal/node/report', report) as Promise<NodeReportAnswer>;
  }

  instanceStopped(name: string): Promise<InstanceStoppedAnswer> {
    return this.post(
      `/internal/node/instances/${encodeURIComponent(name)}/stopped`,
      {},
    ) as Promise<InstanceStoppedAnswer>;
  }

  async instanceEnded(name: string, end: InstanceEnd): Promise<void> {
    await this.post(`/internal/node/instances/${encodeURIComponent(name)}/ended`, end);
  }

  /** Which of the sessions on this node must end. */
  sessions(sessions: LiveSession[]): Promise<SessionsAnswer> {
    return this.post('/internal/node/sessions', { sessions }) as Promise<SessionsAnswer>;
  }

  async activity(serverId: string, entries: NodeActivity[]): Promise<void> {
    await this.post('/internal/node/activity', { serverId, entries });
  }

  async power(serverId: string, power: NodePower): Promise<void> {
    await this.post(`/internal/node/servers/${encodeURIComponent(serverId)}/power`, power);
  }

  sftpLogin(login: SftpLogin): Promise<SftpLoginAnswer> {
    return this.post('/internal/node/sftp/login', login) as Promise<SftpLoginAnswer>;
  }

  /** The rules of this node's firewall, without them when `known` is their version. */
  firewall(known: string | null): Promise<FirewallAnswer> {
    const query = known === null ? '' : `?version=${encodeURIComponent(known)}`;
    return this.send('GET', `/internal/node/firewall${query}`) as Promise<FirewallAnswer>;
  }

  /** Secrets for the services that asked; the reads are recorded once this answers. Nothing of the answer is kept. */
  async vaultReads(reads: VaultRead[], holds: VaultReadsRequest['holds']): Promise<VaultReadsAnswer> {
    const path = '/internal/node/vault/reads';
    const bytes = await this.exchange('POST', path, { reads, holds } satisfies VaultReadsRequest, VAULT_TIMEOUT_MS);
    try {
      return JSON.parse(bytes.toString()) as VaultReadsAnswer;
    } finally {
      bytes.fill(0);
    }
  }

  /** Hands in reads that were answered while the control plane was away. */
  async vaultServed(reads: ServedRead[]): Promise<void> {
    await this.exchange('POST', '/internal/node/vault/served', { reads } satisfies VaultServedRequest, TIMEOUT_MS);
  }

  private post(path: string, payload: object): Promise<unknown> {
    return this.send('POST', path, payload);
  }

  private async send(method: 'GET' | 'POST', path: string, payload?: object): Promise<unknown> {
    const text = (await this.exchange(method, path, payload, TIMEOUT_MS)).toString();
    return text === '' ? undefined : JSON.parse(text);
  }

  private async exchange(
    method: 'GET' | 'POST',
    path: string,
    payload: object | undefined,
    timeoutMs: number,
  ): Promise<Buffer> {
    // Not `AbortSignal.timeout`: a broker asks hundreds of times a second, and each of those goes off in the end.
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(new Error(`No answer to ${path} in time`)), timeoutMs);
    try {
      const { statusCode, body } = await request(`${this.baseUrl}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${this.token}`,
          ...(payload ? { 'content-type': 'application/json' } : {}),
        },
        body: payload ? JSON.stringify(payload) : null,
        signal: deadline.signal,
      });
      const bytes = Buffer.from(await body.arrayBuffer());
      if (statusCode >= 300) throw new InternalApiRefusal(statusCode, path, detailOf(bytes.toString()));
      return bytes;
    } finally {
      clearTimeout(timer);
    }
  }
}

function detailOf(text: string): string | null {
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    return typeof detail === 'string' ? detail : null;
  } catch {
    return null;
  }
}
