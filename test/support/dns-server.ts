import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { decode, encode, type Answer as Record_, type Packet } from 'dns-packet';

type Kind = 'A' | 'AAAA' | 'TXT' | 'CNAME' | 'CAA';
/** CAA as `issue letsencrypt.org`. */
type Zone = Partial<Record<Kind, string[]>> | 'SERVFAIL' | 'SILENT';

const RCODE_SERVFAIL = 2;
const RCODE_NXDOMAIN = 3;
const AUTHORITATIVE = 1024;

/** A name server on loopback that knows what a test tells it. A name that starts with `*.` stands for all below it. */
export class DnsServer {
  readonly zones = new Map<string, Zone>();
  /** What was asked, as `A name`. */
  readonly asked: string[] = [];

  private constructor(
    private readonly socket: Socket,
    readonly port: number,
  ) {
    socket.on('message', (message, from) => {
      const answer = this.answer(decode(message));
      if (answer) socket.send(encode(answer), from.port, from.address);
    });
  }

  static async start(): Promise<DnsServer> {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return new DnsServer(socket, socket.address().port);
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  async close(): Promise<void> {
    this.socket.close();
    await once(this.socket, 'close');
  }

  private answer({ id, questions = [] }: Packet): Packet | null {
    const [question] = questions;
    const name = question!.name.toLowerCase();
    const kind = question!.type as Kind;
    this.asked.push(`${kind} ${name}`);
    const zone = this.zones.get(name) ?? this.zones.get(name.replace(/^[^.]+/, '*'));
    if (zone === 'SILENT') return null;
    const plain = { type: 'response', ...(id === undefined ? {} : { id }), questions } as const;
    if (zone === 'SERVFAIL') return { ...plain, flags: AUTHORITATIVE | RCODE_SERVFAIL };
    if (!zone) return { ...plain, flags: AUTHORITATIVE | RCODE_NXDOMAIN };
    const record = (type: Kind, text: string) => {
      const [tag, ...value] = text.split(' ');
      const data = type === 'CAA' ? { flags: 0, tag, value: value.join(' ') } : text;
      return { type, name, class: 'IN', ttl: 0, data } as Record_;
    };
    const [alias] = zone.CNAME ?? [];
    const records = (zone[kind] ?? []).map((data) => record(kind, data));
    if (alias === undefined) return { ...plain, flags: AUTHORITATIVE, answers: records };
    const target = this.zones.get(alias);
    const found = (typeof target === 'object' && target[kind]) || [];
    const followed = found.map((data) => ({ ...record(kind, data), name: alias }));
    return { ...plain, flags: AUTHORITATIVE, answers: [record('CNAME', alias), ...followed] };
  }
}
