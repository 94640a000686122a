import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { EngineError, WORKSHOP_FOLDER, type ExecSession } from './engine.js';
import { NamedPipe, PIPE_BYTES } from './named-pipe.js';

type Start = (command: string[]) => Promise<ExecSession>;

const CONNECT_MS = 10_000;
/** What fits in the address of a Unix socket, without a workshop's name and a socket's. */
const LONGEST_FOLDER = 107 - '/fil-00000000000000000000000000'.length - '/00000000'.length;

/** F_SETPIPE_SZ of <linux/fcntl.h>, which Perl has no name for. */
const SET_PIPE_SIZE = 1031;

/**
 * Connects its input and output to a socket, or its output to a pipe if one is there, and becomes the program named after it.
 * Once it has connected, the pipe is open.
 */
const CONNECT = String.raw`
use strict;
use Socket;
my ($path, @command) = @ARGV;
my $pipe;
if (-p "$path.out") {
  open $pipe, '>', "$path.out" or die "pipe: $!\n";
  fcntl $pipe, ${SET_PIPE_SIZE}, ${PIPE_BYTES};
}
socket my $socket, PF_UNIX, SOCK_STREAM, 0 or die "socket: $!\n";
connect $socket, pack_sockaddr_un($path) or die "connect: $!\n";
open STDIN, '<&', $socket or die "input: $!\n";
open STDOUT, '>&', $pipe // $socket or die "output: $!\n";
exec { $command[0] } @command or die "exec: $!\n";
`;

/**
 * A way for bytes between this process and programs in workshops that does not lead through the engine, which would copy
 * them several times: each workshop sees a folder of its own, and programs in it connect to sockets there. The programs are
 * started and ended by the engine as ever. Nobody else can reach the folders, as the one above them is closed to others.
 */
export class DirectPath {
  constructor(private readonly folder: string) {
    if (Buffer.byteLength(folder) > LONGEST_FOLDER)
      throw new Error(`The path that WORKSHOP_SOCKET_DIR names must not be longer than ${LONGEST_FOLDER} bytes.`);
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o700);
  }

  /** Folders of this machine are no good to an engine on another one, and a simulated one has no programs. */
  static for(engineUrl: string, folder: string | undefined): DirectPath | null {
    return folder && engineUrl.startsWith('unix:') ? new DirectPath(folder) : null;
  }

  /** The folder that a workshop sees. */
  folderOf(workshop: string): string {
    const folder = join(this.folder, workshop);
    mkdirSync(folder, { recursive: true });
    // Its programs have other user ids than this process, and nobody else gets here.
    chmodSync(folder, 0o711);
    return folder;
  }

  remove(workshop: string): void {
    rmSync(join(this.folder, workshop), { recursive: true, force: true });
  }

  /** Has a program started by `start`, which is given the command, and answers with the streams that it talks by. */
  async open(workshop: string, command: string[], start: Start): Promise<ExecSession> {
    return this.connect(workshop, newName(), command, start);
  }

  /** As `open`, for a program with much to tell: each piece of its output is overwritten when the next one is asked for. */
  async openOutput(workshop: string, command: string[], start: Start): Promise<[ExecSession, AsyncIterable<Buffer>]> {
    const name = newName();
    const pipe = await NamedPipe.make(join(this.folderOf(workshop), `${name}.out`));
    try {
      const session = await this.connect(workshop, name, command, start);
      pipe.hide();
      return [session, pipe.pieces()];
    } catch (error) {
      await pipe.close();
      throw error;
    }
  }

  private async connect(workshop: string, name: string, command: string[], start: Start): Promise<ExecSession> {
    const server = await listen(join(this.folderOf(workshop), name));
    try {
      const connected = once(server, 'connection', { signal: AbortSignal.timeout(CONNECT_MS) }).catch(() => {
        throw new EngineError('timeout', `The program in ${workshop} did not connect in time`);
      }) as Promise<[Socket]>;
      connected.catch(() => {});
      const session = await start(['/usr/bin/perl', '-e', CONNECT, `${WORKSHOP_FOLDER}/${name}`, ...command]);
      // Nothing comes by it, but its end.
      session.stdout.resume();
      const ended = session.exit.then((code) => {
        throw new EngineError('failed', `The program in ${workshop} ended with ${code} before it connected`);
      });
      try {
        const [socket] = await Promise.race([connected, ended]);
        // What nobody reads or writes any more may break off unheard.
        socket.on('error', () => {});
        return { ...session, stdin: socket, stdout: socket };
      } catch (error) {
        void session.kill().catch(() => undefined);
        throw error;
      }
    } finally {
      server.close();
    }
  }
}

function newName(): string {
  return randomBytes(4).toString('hex');
}

async function listen(path: string): Promise<Server> {
  const server = createServer({ pauseOnConnect: true });
  server.maxConnections = 1;
  server.listen(path);
  await once(server, 'listening');
  chmodSync(path, 0o666);
  return server;
}
