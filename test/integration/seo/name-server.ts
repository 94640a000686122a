import { createSocket, type Socket } from 'node:dgram';
import { AUTHORITATIVE_ANSWER, decode, encode, RECURSION_AVAILABLE, RECURSION_DESIRED } from 'dns-packet';

const NXDOMAIN = 3;

export interface Answer {
  type: 'A' | 'AAAA' | 'CNAME';
  data: string;
  /** Of what the record is; the name that was asked for when absent. */
  name?: string;
}

/** What it answers; undefined for a name that does not exist. */
export type Zone = (name: string, type: string) => Answer[] | undefined;

/** A real name server for tests; nothing it says may be kept (TTL 0). */
export class NameServer {
  readonly asked: string[] = [];

  private constructor(
    private readonly socket: Socket,
    public zone: Zone,
  ) {}

  static async start(zone: Zone): Promise<NameServer> {
    const socket = createSocket('udp4');
    const server = new NameServer(socket, zone);
    socket.on('message', (message, { port, address }) => socket.send(server.answer(message), port, address));
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
    return server;
  }

  get address(): string {
    return `127.0.0.1:${this.socket.address().port}`;
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => this.socket.close(resolve));
  }

  private answer(message: Buffer): Buffer {
    const { id, questions = [] } = decode(message);
    const { name: asked, type } = questions[0]!;
    const name = asked.toLowerCase();
    this.asked.push(`${name} ${type}`);
    const found = this.zone(name, type);
    const answers = (found ?? []).map((record) => ({ name, class: 'IN', ttl: 0, ...record }) as const);
    // With authority; of a name that does not exist it says so.
    const flags = AUTHORITATIVE_ANSWER | RECURSION_DESIRED | RECURSION_AVAILABLE | (found ? 0 : NXDOMAIN);
    return encode({ type: 'response', ...(id === undefined ? {} : { id }), flags, questions, answers });
  }
}
