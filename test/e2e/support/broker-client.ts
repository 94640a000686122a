import type { Readable } from 'node:stream';
import { engineName } from '../../../src/modules/servers/server.operations.js';
import type { Hosting } from './hosting.js';

/** Sends bytes over TCP and prints what comes back until the other side ends, or nothing comes for a while. */
const TALK = `
import base64, json, socket, sys
order = json.loads(sys.argv[1])
family = socket.AF_INET6 if ':' in order['host'] else socket.AF_INET
answer = b''
try:
    connection = socket.socket(family, socket.SOCK_STREAM)
    connection.settimeout(order['seconds'])
    if order.get('source'):
        connection.bind((order['source'], 0))
    connection.connect(socket.getaddrinfo(order['host'], order['port'], family)[0][4])
    connection.sendall(base64.b64decode(order['bytes']).replace(b'<padding>', b'x' * order['padding']))
    while True:
        part = connection.recv(65536)
        if not part:
            break
        answer += part
    print('ended', base64.b64encode(answer).decode())
except Exception as error:
    print(type(error).__name__ + ':' + str(error).replace(' ', '_'), base64.b64encode(answer).decode())
`;

export interface BrokerAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

interface Talk {
  host?: string;
  port?: number;
  /** The local address. */
  source?: string;
  seconds?: number;
  /** How many bytes stand where the text says `<padding>`: more than an argument can hold. */
  padding?: number;
}

/** Calls the broker from inside a service's container, as its program would, or as its root, which no program is. */
export class BrokerClient {
  readonly instance: string;

  constructor(
    private readonly hosting: Hosting,
    readonly serverId: string,
  ) {
    this.instance = engineName(serverId);
  }

  async address(): Promise<string> {
    return (await this.hosting.engine.getInstance(this.instance)).address!;
  }

  async run(command: string[], user = 1000): Promise<string> {
    const session = await this.hosting.engine.exec(this.instance, {
      command,
      user,
      group: user,
      cwd: '/',
      environment: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    });
    session.stdin.end();
    const [output, errors] = await Promise.all([textOf(session.stdout), textOf(session.stderr)]);
    const code = await session.exit;
    if (code !== 0) throw new Error(`${command[0]} ended with ${code}: ${errors}`);
    return output.trim();
  }

  python(source: string, ...args: string[]): Promise<string> {
    return this.run(['python3', '-c', source, ...args]);
  }

  pythonAsRoot(source: string, ...args: string[]): Promise<string> {
    return this.run(['python3', '-c', source, ...args], 0);
  }

  /** How the connection ended, and all that came. */
  async send(
    bytes: string,
    { host = this.hosting.gateway, port = 7458, seconds = 4, source, padding = 0 }: Talk = {},
  ): Promise<{ how: string; text: string }> {
    const order = { host, port, seconds, source, padding, bytes: Buffer.from(bytes).toString('base64') };
    const [how = '', answer = ''] = (await this.python(TALK, JSON.stringify(order))).split(' ');
    return { how, text: Buffer.from(answer, 'base64').toString() };
  }

  /** One request on a connection of its own. */
  async ask(path: string, headers: Record<string, string | null> = {}, method = 'GET'): Promise<BrokerAnswer> {
    const { text, how } = await this.send(this.request(path, { Connection: 'close', ...headers }, method));
    const [answer] = answersIn(text);
    if (!answer) throw new Error(`${method} ${path} was not answered: ${how} ${text}`);
    return answer;
  }

  async secrets(): Promise<Record<string, string>> {
    const { status, body } = await this.ask('/v1/secrets');
    if (status !== 200) throw new Error(`${status}: ${body}`);
    return JSON.parse(body) as Record<string, string>;
  }

  /** A request's text; a header of null is left out. */
  request(path: string, headers: Record<string, string | null> = {}, method = 'GET'): string {
    const all = Object.entries({ Host: `${this.hosting.gateway}:7458`, ...headers });
    const lines = all.filter(([, value]) => value !== null).map(([name, value]) => `${name}: ${value}\r\n`);
    return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
  }
}

/** The answers that stand one after another in what came over a connection. */
export function answersIn(text: string): BrokerAnswer[] {
  const answers: BrokerAnswer[] = [];
  let rest = text;
  while (rest.startsWith('HTTP/1.1 ')) {
    const end = rest.indexOf('\r\n\r\n');
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
    );
    const bytes = Buffer.from(rest.slice(end + 4));
    const length = Number(headers['content-length'] ?? bytes.length);
    answers.push({ status: Number(first.split(' ')[1]), headers, body: bytes.subarray(0, length).toString() });
    rest = bytes.subarray(length).toString();
  }
  return answers;
}

async function textOf(stream: Readable): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return text;
}
