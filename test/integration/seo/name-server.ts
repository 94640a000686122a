import { createSocket, type Socket } from 'node:dgram';

const TYPES: Record<number, string> = { 1: 'A', 5: 'CNAME', 28: 'AAAA' };

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
    const labels: string[] = [];
    let at = 12;
    for (let length = message[at]!; length > 0; length = message[at]!) {
      labels.push(message.toString('ascii', at + 1, at + 1 + length));
      at += length + 1;
    }
    const name = labels.join('.').toLowerCase();
    const type = TYPES[message.readUInt16BE(at + 1)] ?? '?';
    this.asked.push(`${name} ${type}`);
    const question = message.subarray(12, at + 5);
    const answers = this.zone(name, type);
    const head = Buffer.alloc(12);
    head.writeUInt16BE(message.readUInt16BE(0), 0);
    // An answer with authority; of a name that does not exist it says so.
    head.writeUInt16BE(answers ? 0x8580 : 0x8583, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(answers?.length ?? 0, 6);
    return Buffer.concat([head, question, ...(answers ?? []).map((record) => recordOf(record, name))]);
  }
}

function recordOf({ type, data, name }: Answer, asked: string): Buffer {
  const bytes =
    type === 'CNAME'
      ? nameOf(data)
      : type === 'A'
        ? Buffer.from(data.split('.').map(Number))
        : Buffer.from(expanded(data), 'hex');
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(Number(Object.keys(TYPES).find((number) => TYPES[Number(number)] === type)), 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt16BE(bytes.length, 8);
  return Buffer.concat([nameOf(name ?? asked), fixed, bytes]);
}

function nameOf(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function expanded(address: string): string {
  const [left = '', right] = address.split('::');
  const words = (part: string): string[] => (part === '' ? [] : part.split(':'));
  const missing = right === undefined ? 0 : 8 - words(left).length - words(right).length;
  const all = [...words(left), ...Array.from({ length: missing }, () => '0'), ...words(right ?? '')];
  return all.map((word) => word.padStart(4, '0')).join('');
}
