import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type {
  ServedRead,
  VaultRead,
  VaultReadsAnswer,
  VaultReadsRequest,
  VaultServedRequest,
} from '../../src/platform/internal-api/vault-reads.contract.js';

type Answer = VaultReadsAnswer['services'][string];

/**
 * The control plane's side of the broker's contract over real HTTP, with what it answers and when it is away in the hands
 * of a test.
 */
export class VaultControlPlane {
  /** By service. */
  readonly answers = new Map<string, Answer>();
  /** Services that are put off unless they are asked for alone. */
  readonly large = new Set<string>();
  /** Reads in the order they were recorded, each id once. */
  readonly recorded = new Map<string, VaultRead>();
  /** How many reads came in each request. */
  readonly groups: number[] = [];
  /** How often the node held what it asked for. */
  unchanged = 0;
  readonly tokens = new Set<string | undefined>();
  /** Instead of an answer: a status, silence, or a connection that is cut after the reads were recorded. */
  fault: number | 'silence' | 'cut' | null = null;
  private server: Server | undefined;
  private port = 0;
  private release: (() => void) | undefined;
  private gate: Promise<void> = Promise.resolve();

  static async start(): Promise<VaultControlPlane> {
    const plane = new VaultControlPlane();
    await plane.back();
    return plane;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  give(serverId: string, values: Record<string, string>): void {
    const secrets = Object.entries(values).map(([key, value]) => ({ key, value }));
    this.answers.set(serverId, { state: JSON.stringify(secrets), secrets });
  }

  private answerTo(serverId: string, held: string | undefined): Answer {
    const answer = this.answers.get(serverId) ?? { refused: 'unknown' };
    if (!('state' in answer) || answer.state !== held) return answer;
    this.unchanged++;
    return { unchanged: true };
  }

  /** From now on nothing listens. */
  async away(): Promise<void> {
    const { server } = this;
    if (!server) return;
    this.server = undefined;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  }

  async back(): Promise<void> {
    if (this.server) return;
    this.server = createServer((request, response) => void this.serve(request, response));
    this.server.listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
    this.port = (this.server.address() as AddressInfo).port;
  }

  /** Answers nobody until `letGo`. */
  hold(): void {
    this.gate = new Promise((resolve) => (this.release = resolve));
  }

  letGo(): void {
    this.release?.();
  }

  /** What was recorded of a service. */
  of(serverId: string): VaultRead[] {
    return [...this.recorded.values()].filter((read) => read.serverId === serverId);
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    this.tokens.add(request.headers.authorization);
    await this.gate;
    if (this.fault === 'silence') return;
    if (typeof this.fault === 'number') {
      response.writeHead(this.fault).end('{}');
      return;
    }
    const { reads, holds = {} } = JSON.parse(body) as Partial<VaultReadsRequest> & VaultServedRequest;
    this.groups.push(reads.length);
    const asked = new Set(reads.filter(({ refused }) => refused === null).map(({ serverId }) => serverId));
    const putOff = new Set(asked.size > 1 ? [...asked].filter((id) => this.large.has(id)) : []);
    for (const read of reads) {
      if (read.refused === null && putOff.has(read.serverId)) continue;
      if (!this.recorded.has(read.id)) this.recorded.set(read.id, read);
    }
    if (this.fault === 'cut') {
      request.socket.destroy();
      return;
    }
    if (request.url === '/internal/node/vault/served') {
      if ((reads as ServedRead[]).some(({ keys }) => !Array.isArray(keys))) response.writeHead(400).end();
      else response.writeHead(204).end();
      return;
    }
    const answerOf = (id: string): Answer => (putOff.has(id) ? { putOff: true } : this.answerTo(id, holds[id]));
    const services = Object.fromEntries([...asked].map((id) => [id, answerOf(id)]));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ services }));
  }
}
