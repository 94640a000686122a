import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

const ip = (...args: string[]): string => execFileSync('ip', args, { encoding: 'utf8' });

export interface Street {
  /** Name of the namespace. */
  name: string;
  /** Name of this host's end of the cable. */
  link: string;
  ours: string;
  theirs: string;
  prefix: number;
}

/** A machine beside this host: a network namespace at the other end of a cable, with this host as its way out. */
export class Neighbour {
  readonly inside: string[];
  private readonly programs: ChildProcess[] = [];

  constructor(private readonly street: Street) {
    const { name, link, ours, theirs, prefix } = street;
    this.inside = ['ip', 'netns', 'exec', name];
    this.remove();
    ip('netns', 'add', name);
    ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
    ip('addr', 'add', `${ours}/${prefix}`, 'dev', link);
    ip('link', 'set', link, 'up');
    this.run('ip', 'addr', 'add', `${theirs}/${prefix}`, 'dev', 'eth0');
    this.run('ip', 'link', 'set', 'eth0', 'up');
    this.run('ip', 'link', 'set', 'lo', 'up');
    this.run('ip', 'route', 'add', 'default', 'via', ours);
  }

  run(...command: string[]): string {
    const [program, ...args] = [...this.inside, ...command];
    return execFileSync(program!, args, { encoding: 'utf8' }).trim();
  }

  /** One more address of it, and this host's way there. */
  alsoHas(address: string): void {
    this.run('ip', 'addr', 'add', `${address}/32`, 'dev', 'lo');
    ip('route', 'replace', `${address}/32`, 'via', this.street.theirs);
  }

  /** Takes connections there, on all its addresses. */
  async listen(port: number): Promise<void> {
    const [program, ...args] = [...this.inside, process.execPath, '-e', LISTENER, String(port)];
    const listener = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.programs.push(listener);
    await once(listener.stdout, 'data');
  }

  remove(): void {
    for (const program of this.programs.splice(0)) program.kill('SIGKILL');
    for (const args of [
      ['netns', 'del', this.street.name],
      ['link', 'del', this.street.link],
    ]) {
      try {
        execFileSync('ip', args, { stdio: 'ignore' });
      } catch {
        // There is none.
      }
    }
  }
}

const LISTENER = `
require('node:net').createServer((socket) => socket.end()).listen(Number(process.argv[1]), () => console.log('listens'));
`;
