import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { connect, createServer, type ListenOptions, type Server, type TcpNetConnectOpts } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'berth-closed-';
const RESIDENT = join(import.meta.dirname, 'closed-network-resident.mjs');

const ip = (...args: string[]): string =>
  execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/**
 * A network namespace that nothing leads out of, in which every address there is belongs to the namespace itself. What a
 * process in it connects to, be it private, the metadata service of a cloud or a public site, is a listener of the test's own,
 * which counts. Only the ports that are named lead out, through Unix sockets. It needs root.
 */
export class ClosedNetwork {
  readonly name = `${PREFIX}${process.pid}`;
  private readonly folder = folderOf(this.name);
  private readonly servers: Server[] = [];
  private readonly asked = new Map<number, (result: unknown) => void>();
  private resident: ChildProcess | undefined;
  private orders = 0;

  constructor(private readonly options: { countedPorts: number[]; dnsPort: number }) {
    clearLeftovers();
    mkdirSync(this.folder, { mode: 0o700 });
    ip('netns', 'add', this.name);
    process.once('exit', this.remove);
    this.inside('ip', 'link', 'set', 'lo', 'up');
    this.inside('ip', 'route', 'add', 'local', '0.0.0.0/0', 'dev', 'lo');
    this.inside('ip', '-6', 'route', 'add', 'local', '::/0', 'dev', 'lo');
  }

  /** What a process is started by to live in it. */
  get launcher(): string[] {
    return ['ip', 'netns', 'exec', this.name];
  }

  /** Leads these ports of loopback out of it (`out`), and into it (`into`): each is the same port on both sides. */
  async open({ out, into }: { out: number[]; into: number[] }): Promise<void> {
    const way = (port: number): { port: number; path: string } => ({ port, path: join(this.folder, `${port}.sock`) });
    for (const { port, path } of out.map(way)) await this.forward({ path }, { port, host: '127.0.0.1' });
    const about = { ...this.options, out: out.map(way), into: into.map(way) };
    const [program, ...args] = [...this.launcher, process.execPath, RESIDENT, JSON.stringify(about)];
    const resident = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.resident = resident;
    await new Promise<void>((resolve, reject) => {
      resident.once('message', () => resolve());
      resident.once('exit', (code) => reject(new Error(`the resident of ${this.name} ended with ${code}`)));
    });
    resident.on('message', ({ id, result }: { id: number; result: unknown }) => {
      this.asked.get(id)?.(result);
      this.asked.delete(id);
    });
    for (const { port, path } of into.map(way)) await this.forward({ port, host: '127.0.0.1' }, { path });
  }

  /** How many connections came to each address and port, as `10.0.0.1 80`. */
  arrived(): Promise<Record<string, number>> {
    return this.order({ op: 'arrived' }) as Promise<Record<string, number>>;
  }

  /** Connects in it without any guard: `connected`, or the code of what went wrong. */
  knock(host: string, port: number): Promise<string> {
    return this.order({ op: 'knock', host, port }) as Promise<string>;
  }

  async close(): Promise<void> {
    for (const server of this.servers) server.close();
    if (this.resident?.connected) {
      const ended = once(this.resident, 'exit');
      this.resident.disconnect();
      await ended;
    }
    process.off('exit', this.remove);
    this.remove();
  }

  private order(order: object): Promise<unknown> {
    const id = ++this.orders;
    return new Promise((resolve) => {
      this.asked.set(id, resolve);
      this.resident!.send({ id, ...order });
    });
  }

  private inside(...command: string[]): void {
    ip('netns', 'exec', this.name, ...command);
  }

  private async forward(from: ListenOptions, to: Partial<TcpNetConnectOpts> & { path?: string }): Promise<void> {
    const server = createServer((one) => {
      const other = connect(to as TcpNetConnectOpts);
      one.pipe(other).pipe(one);
      one.on('error', () => other.destroy());
      other.on('error', () => one.destroy());
    });
    this.servers.push(server);
    server.listen(from);
    await once(server, 'listening');
  }

  private readonly remove = (): void => {
    removeNamespace(this.name);
  };
}

/** Of runs that were killed: each is named after its process. */
function clearLeftovers(): void {
  const names = ip('netns', 'list')
    .split('\n')
    .map((line) => line.split(' ')[0]!);
  for (const name of names.filter((other) => other.startsWith(PREFIX))) {
    const owner = Number(name.slice(PREFIX.length));
    if (owner === process.pid || !existsSync(`/proc/${owner}`)) removeNamespace(name);
  }
}

/** With all that still runs in it. */
function removeNamespace(name: string): void {
  try {
    for (const pid of ip('netns', 'pids', name).split('\n')) if (pid !== '') process.kill(Number(pid), 'SIGKILL');
  } catch {
    // It ended meanwhile.
  }
  ip('netns', 'del', name);
  rmSync(folderOf(name), { recursive: true, force: true });
}

function folderOf(name: string): string {
  return join(tmpdir(), name);
}
