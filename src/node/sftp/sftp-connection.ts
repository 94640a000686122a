import type { Socket } from 'node:net';
import type { Connection } from 'ssh2';

/** What a client is given to take the end of its connection. */
const END_MS = 1000;

/** One client's connection from its first byte to its last, whether anybody has logged in by it or not. */
export class SftpConnection {
  private readonly over = new AbortController();
  private ssh: Connection | undefined;
  loggedIn = false;
  /** Aborted at the end, whichever side it comes from: nothing that arrives counts any more. */
  readonly ended = this.over.signal;

  constructor(
    private readonly socket: Socket,
    readonly address: string,
  ) {
    for (const event of ['end', 'finish', 'close']) socket.once(event, () => this.finish());
  }

  /** What the library makes of the connection as soon as the client has said that it speaks SSH. */
  speaks(ssh: Connection): void {
    this.ssh = ssh;
  }

  /** Ends it without a word, for whom nothing is known of. */
  drop(): void {
    this.socket.destroy();
  }

  /** The only way to end a session: the library alone would go on carrying out what a client sends that does not close its side. */
  finish(): void {
    if (this.ended.aborted) return;
    this.socket.removeAllListeners('data').resume();
    this.over.abort();
    (this.ssh ?? this.socket).end();
    setTimeout(() => this.socket.destroy(), END_MS).unref();
  }
}
