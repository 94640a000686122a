import type WebSocket from 'ws';
import { EngineError, type ExecSession, type ExecSpec } from '../engine.js';
import { checkEnvironment } from '../environment-rules.js';
import { EXEC_WRAPPER } from './exec-wrapper.js';
import type { LxdContext } from './lxd-context.js';
import type { LxdEndpoint } from './lxd-endpoint.js';
import { lxdError } from './lxd-error.js';
import type { LxdOperation } from './lxd-operations.js';
import { openStream, readableOf, writableOf } from './lxd-socket.js';

interface ExecOperation extends LxdOperation {
  metadata: { fds?: Record<string, string>; return?: number } | null;
}

/** A program's end is waited for in rounds of this length: an engine that is gone is noticed by the one under way. */
const WAIT_SECONDS = 300;
const ASK_AGAIN_MS = 500;
const KILL_PATIENCE_MS = 10_000;
/** The engine tells of no end while anybody holds the program's output open, and a program may give it to others. */
const GIVE_UP_MS = 12_000;
/** The exit code of what was ended by SIGKILL. */
const KILLED = 137;

/** Programs run in a container beside its own. */
export class LxdExec {
  constructor(
    private readonly context: LxdContext,
    private readonly endpoint: LxdEndpoint,
  ) {}

  async exec(name: string, { command, user, group, cwd, environment }: ExecSpec): Promise<ExecSession> {
    checkEnvironment(environment);
    const what = `POST /instances/${encodeURIComponent(name)}/exec`;
    const names = Object.keys(environment).join(',');
    const { metadata, operation } = await this.context.transport.call<ExecOperation>(
      'POST',
      `/instances/${encodeURIComponent(name)}/exec`,
      {
        body: {
          command: ['/usr/bin/perl', '-e', EXEC_WRAPPER, '--', String(user), String(group), cwd, names, ...command],
          environment,
          'wait-for-websocket': true,
          interactive: false,
          user: 0,
          group: 0,
          cwd: '/',
        },
      },
    );
    if (operation === null) throw new EngineError('failed', `${what}: no operation was begun`);
    const fds = metadata.metadata?.fds ?? {};
    const streams = await Promise.allSettled(
      ['control', '0', '1', '2'].map((fd) => openStream(this.endpoint, operation, fds[fd])),
    );
    const sockets = streams.map((stream) => (stream.status === 'fulfilled' ? stream.value : null));
    const [control, stdin, stdout, stderr] = sockets;
    if (!control || !stdin || !stdout || !stderr) {
      for (const socket of sockets) socket?.terminate();
      throw (streams.find(({ status }) => status === 'rejected') as PromiseRejectedResult).reason;
    }
    control.resume();
    const givenUp = new AbortController();
    const exit = this.exitOf(operation, what, givenUp.signal);
    // Whoever reads the streams only need not look at it.
    exit.catch(() => {});
    void exit.then(
      () => control.terminate(),
      () => control.terminate(),
    );
    return {
      stdin: writableOf(stdin),
      stdout: readableOf(stdout),
      stderr: readableOf(stderr),
      exit,
      kill: () =>
        kill(control, exit, () => {
          givenUp.abort();
          for (const socket of sockets) socket?.terminate();
        }),
    };
  }

  private async exitOf(operation: string, what: string, givenUp: AbortSignal): Promise<number> {
    const path = `${operation.replace(/^\/1\.0/, '').split('?')[0]}/wait`;
    for (;;) {
      const ended = await this.wait(path, givenUp);
      if (ended === null) return KILLED;
      if (ended.status_code < 200) continue;
      const code = ended.metadata?.return;
      if (code !== undefined && code >= 0) return code;
      throw lxdError(0, ended.err || 'the program ended without an exit code', what);
    }
  }

  /** One round; null when nobody waits for the end any more. */
  private async wait(path: string, givenUp: AbortSignal): Promise<ExecOperation | null> {
    try {
      return await this.context.transport.get<ExecOperation>(path, {
        query: { timeout: String(WAIT_SECONDS) },
        timeoutMs: (WAIT_SECONDS + 15) * 1000,
        signal: givenUp,
      });
    } catch (error) {
      if (givenUp.aborted) return null;
      throw error;
    }
  }
}

/** Told again until it shows: a signal may come in the moment before the wrapper listens to it. */
async function kill(control: WebSocket, exit: Promise<number>, giveUp: () => void): Promise<void> {
  const ended = exit.then(
    () => {},
    () => {},
  );
  const tell = (signal: number) => control.send(JSON.stringify({ command: 'signal', signal }), () => {});
  tell(15);
  const again = setInterval(() => tell(15), ASK_AGAIN_MS);
  const last = setTimeout(() => tell(9), KILL_PATIENCE_MS);
  const end = setTimeout(giveUp, GIVE_UP_MS);
  await ended;
  clearInterval(again);
  clearTimeout(last);
  clearTimeout(end);
}
