import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { until } from '../../support/until.js';
import type { Server } from './hosting.js';

/**
 * A program for the tests, in place of the starter: over its port it says what it sees, runs what it is told prints what it is
 * told to, notes what it hears on its standard input, and ends the way it is told. It is put in place by the install command, so it needs no repository.
 */
const SOURCE = `
import http.server, json, os, signal, subprocess, sys, threading

mode = {'ignore': False}

def stop(*_):
    if not mode['ignore']:
        os._exit(0)

signal.signal(signal.SIGTERM, stop)

class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer({'environment': dict(os.environ)})

    def do_POST(self):
        order = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        if 'run' in order:
            done = subprocess.run(order['run'], capture_output=True, text=True, timeout=20)
            self.answer({'code': done.returncode, 'output': done.stdout + done.stderr})
            return
        self.answer({})
        self.wfile.flush()
        self.connection.shutdown(1)
        for n in range(order.get('lines', 0)):
            print('line', n, flush=True)
        if 'exit' in order:
            os._exit(order['exit'])
        if 'signal' in order:
            os.kill(os.getpid(), order['signal'])
        if 'ignoreStop' in order:
            mode['ignore'] = True
        if 'eat' in order:
            held = []
            while True:
                held.append(bytearray(os.urandom(1) * 4194304))

    def log_message(self, *args):
        pass

def listen():
    for line in sys.stdin:
        with open('heard', 'a') as out:
            out.write(line)

threading.Thread(target=listen, daemon=True).start()
port = int(os.environ['SERVER_PORT'])
server = http.server.ThreadingHTTPServer(('0.0.0.0', port), Handler)
print('obedient program on port', port, flush=True)
server.serve_forever()
`;

/** An install command that puts the obedient program in place, and then does something more. */
export function installsProgram(more = 'true'): string {
  const packed = gzipSync(SOURCE, { level: 9 }).toString('base64');
  return `echo ${packed} | base64 -d | gunzip > main.py && ${more}`;
}

/** Talks to the program of a service over its public port. */
export class Program {
  readonly url: string;

  constructor(private readonly server: Server) {
    const { ip, port } = server.primaryAllocation;
    this.url = `http://${ip}:${port}/`;
  }

  /** What it answers to a GET, once it answers. */
  text(timeoutMs = 60_000): Promise<string> {
    return this.at('', timeoutMs);
  }

  at(path: string, timeoutMs = 60_000): Promise<string> {
    return until(
      `an answer of ${this.url}${path}`,
      async () => {
        try {
          const response = await fetch(`${this.url}${path}`, {
            signal: AbortSignal.timeout(5000),
            headers: { connection: 'close' },
          });
          return await response.text();
        } catch {
          return null;
        }
      },
      timeoutMs,
    );
  }

  async environment(): Promise<Record<string, string>> {
    return (JSON.parse(await this.text()) as { environment: Record<string, string> }).environment;
  }

  /** Runs a command inside, as the program's user. */
  async run(...command: string[]): Promise<{ code: number; output: string }> {
    await this.text();
    return (await this.order({ run: command })) as { code: number; output: string };
  }

  /** Tells it to end, or to become stubborn or greedy. */
  async order(order: Record<string, unknown>): Promise<unknown> {
    await this.text();
    const response = await fetch(this.url, {
      method: 'POST',
      body: JSON.stringify(order),
      signal: AbortSignal.timeout(25_000),
      headers: { connection: 'close' },
    });
    return response.json();
  }

  /** That its public port refuses connections, soon: an engine closes ports a moment after it says that a program stopped. */
  async refuses(timeoutMs = 5000): Promise<boolean> {
    try {
      return await until('refusal', () => this.refusesNow(), timeoutMs);
    } catch {
      return false;
    }
  }

  private refusesNow(): Promise<boolean> {
    const { ip, port } = this.server.primaryAllocation;
    return new Promise((resolve) => {
      const socket = connect(port, ip);
      socket.on('error', () => resolve(true));
      socket.on('connect', () => {
        socket.destroy();
        resolve(false);
      });
    });
  }
}
