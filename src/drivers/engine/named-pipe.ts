import { execFile } from 'node:child_process';
import { close, constants, open, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { promisify } from 'node:util';

/** The most that anybody may have a pipe hold; who reads takes as much, so that one call empties it. */
export const PIPE_BYTES = 1024 * 1024;

/**
 * The reading end of a pipe with a name, for output that is large: all of it is read into one buffer, where a socket puts
 * each of its thousands of pieces into memory of its own, which costs more to be freed than to be filled.
 */
export class NamedPipe {
  private constructor(
    private readonly path: string,
    private fd: number | null,
  ) {}

  /** Makes the pipe. Whoever writes to it opens it without having to wait. */
  static async make(path: string): Promise<NamedPipe> {
    await promisify(execFile)('mkfifo', ['--mode=666', path]);
    return new NamedPipe(path, await promisify(open)(path, constants.O_RDONLY | constants.O_NONBLOCK));
  }

  /** Nobody finds it any more; whoever has opened it goes on. */
  hide(): void {
    rmSync(this.path, { force: true });
  }

  /** What was never read is not read any more. */
  async close(): Promise<void> {
    this.hide();
    if (this.fd !== null) await promisify(close)(this.fd);
    this.fd = null;
  }

  /**
   * What comes, to its end. Each piece is overwritten when the next one is asked for. To be called once somebody has opened
   * the pipe to write: before that it looks as if it had ended.
   */
  async *pieces(): AsyncGenerator<Buffer, void> {
    const fd = this.fd;
    if (fd === null) throw new Error('The pipe is closed');
    this.fd = null;
    const buffer = Buffer.allocUnsafeSlow(PIPE_BYTES);
    const state: { bytes: number; ended: boolean; failure: Error | null; wake: () => void } = {
      bytes: 0,
      ended: false,
      failure: null,
      wake: () => undefined,
    };
    const callback = (bytes: number): boolean => {
      state.bytes = bytes;
      state.wake();
      return false; // until it is asked for more
    };
    const socket = new Socket({ fd, writable: false, onread: { buffer, callback } });
    socket.once('error', (error) => (state.failure = error));
    socket.once('close', () => {
      state.ended = true;
      state.wake();
    });
    try {
      for (;;) {
        const woken = new Promise<void>((resolve) => (state.wake = resolve));
        socket.resume();
        if (!state.ended) await woken;
        if (state.failure) throw state.failure;
        if (state.bytes === 0) return;
        yield buffer.subarray(0, state.bytes);
        state.bytes = 0;
      }
    } finally {
      socket.destroy();
    }
  }
}
