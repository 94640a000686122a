import { once } from 'node:events';
import WebSocket from 'ws';
import type { Api } from '../../support/api.js';
import { until } from '../../support/until.js';

export interface ConsoleAccess {
  token: string;
  socket: string;
  expiresAt: string;
}

export async function consoleAccess(api: Api, serverId: string): Promise<ConsoleAccess> {
  return (await api.get(`/servers/${serverId}/console`)).expect(200).body as ConsoleAccess;
}

/** What a Pterodactyl panel has on its side: frames of an event and texts, both ways. */
export class WingsClient {
  readonly frames: { event: string; args: string[] }[] = [];
  private static readonly open = new Set<WingsClient>();
  closed: { code: number; reason: string } | null = null;

  private constructor(readonly socket: WebSocket) {
    WingsClient.open.add(this);
    socket.on('message', (data) => {
      const { event, args = [] } = JSON.parse((data as Buffer).toString()) as { event: string; args?: string[] };
      this.frames.push({ event, args });
    });
    socket.on('close', (code, reason) => (this.closed = { code, reason: reason.toString() }));
    socket.on('error', () => {});
  }

  static async connect(url: string, origin?: string): Promise<WingsClient> {
    const client = new WingsClient(new WebSocket(url, { origin, perMessageDeflate: false }));
    await once(client.socket, 'open');
    return client;
  }

  static closeAll(): void {
    for (const client of WingsClient.open) client.close();
    WingsClient.open.clear();
  }

  /** Connected, let in, and told how the service stands. */
  static async enter(api: Api, serverId: string): Promise<WingsClient> {
    const { socket, token } = await consoleAccess(api, serverId);
    const client = await WingsClient.connect(socket);
    client.send('auth', token);
    await client.event('status');
    return client;
  }

  send(event: string, ...args: string[]): void {
    this.socket.send(JSON.stringify({ event, args }));
  }

  /** Texts of all frames of this event so far. */
  all(event: string): string[] {
    return this.frames.filter((one) => one.event === event).map(({ args }) => args[0] ?? '');
  }

  get lines(): string[] {
    return this.all('console output');
  }

  /** Waits until `count` frames of this event have come; answers the last one's text. */
  async event(event: string, count = 1, timeoutMs = 60_000): Promise<string> {
    await until(
      `${count} of ${event}`,
      () => {
        if (this.all(event).length >= count) return true;
        if (this.closed)
          throw new Error(`closed: ${JSON.stringify(this.closed)} ${JSON.stringify(this.frames.slice(-5))}`);
        return false;
      },
      timeoutMs,
    );
    return this.all(event).at(-1)!;
  }

  async line(wanted: string, timeoutMs = 60_000): Promise<void> {
    await until(`the line ${wanted}`, () => this.lines.includes(wanted), timeoutMs);
  }

  async end(timeoutMs = 60_000): Promise<{ code: number; reason: string }> {
    await until('the end of the connection', () => this.closed !== null, timeoutMs);
    return this.closed!;
  }

  close(): void {
    this.socket.terminate();
  }
}
