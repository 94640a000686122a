import { pipeline } from 'node:stream/promises';
import type { DirectPath } from '../../../../drivers/engine/direct-path.js';
import type { Engine, ExecSession } from '../../../../drivers/engine/engine.js';
import { tooLarge } from './archiver.js';

const DATA = '/home/container';
const KEPT_STDERR = 4096;
const AS_THEY_ARE = ['--numeric-owner', '--xattrs', '--acls'];

/** In blocks of 512 bytes. The default of 20 takes a sixth longer. */
const BLOCKING_FACTOR = 512;
const PACK = [
  'tar',
  '--create',
  '--file=-',
  `--directory=${DATA}`,
  '--one-file-system',
  '--sparse',
  // Times to the nanosecond, names of any length; without the times that say when somebody looked.
  '--format=posix',
  `--blocking-factor=${BLOCKING_FACTOR}`,
  '--pax-option=delete=atime,delete=ctime',
  ...AS_THEY_ARE,
  '--use-compress-program=zstd -q -1',
];
/** Has `tar` say so when it comes to more than these bytes, before they are compressed. */
const packAtMost = (bytes: number): string[] => {
  const records = Math.ceil(bytes / (BLOCKING_FACTOR * 512));
  return [...PACK, `--checkpoint=${records}`, '.'];
};
const CAME_TO_MORE = /^tar: Write checkpoint \d+$/m;
const UNPACK = [
  'tar',
  '--extract',
  '--file=-',
  `--directory=${DATA}`,
  '--same-owner',
  '--preserve-permissions',
  ...AS_THEY_ARE,
  '--use-compress-program=zstd -q',
];
const TO_DISK = ['sync', '--file-system', DATA];

/** A tool that ended with an error. Its words name files of the account's, so they are for nobody but `isFull`. */
export class ToolFailed extends Error {
  constructor(
    tool: string,
    readonly exitCode: number,
    private readonly words: string,
  ) {
    super(`${tool} in the workshop ended with exit code ${exitCode}`);
  }

  get isFull(): boolean {
    return /No space left on device|Disk quota exceeded/.test(this.words);
  }
}

/**
 * Archives of a volume, made and unpacked by `tar` as root of a container that has nothing else: owners, modes, links and
 * holes come back as they were, and what an archive holds can hurt nobody.
 */
export class WorkshopTar {
  /** Without `direct` all bytes pass through the engine. */
  constructor(
    private readonly engine: Engine,
    private readonly direct: DirectPath | null,
  ) {}

  /**
   * The archive of the workshop's volume. It fails at its end when the archive is not whole. Each piece may be overwritten
   * when the next one is asked for. Of more than `atMost` bytes, before they are compressed, there is none.
   */
  async *pack(name: string, atMost: number, signal: AbortSignal): AsyncGenerator<Buffer, void> {
    const [session, output] = await this.connectOutput(name, packAtMost(atMost));
    const stop = endOn(signal, session);
    let isTooLarge = false;
    const words = listen(session, (said) => {
      if (isTooLarge || !CAME_TO_MORE.test(said)) return;
      isTooLarge = true;
      void session.kill().catch(() => undefined);
    });
    session.stdin.end();
    let ended = false;
    try {
      yield* output;
      ended = true;
      signal.throwIfAborted();
      await mustSucceed('tar', session, words);
    } catch (error) {
      throw isTooLarge && !signal.aborted ? tooLarge() : error;
    } finally {
      stop();
      // Whoever reads may have given up half-way; of what has ended nothing is left to end.
      if (!ended) void session.kill().catch(() => undefined);
    }
  }

  /** Unpacks an archive into the workshop's volume, and has it on the disk when this resolves. */
  async unpack(name: string, archive: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    const session = await this.connect(name, UNPACK);
    const stop = endOn(signal, session);
    const words = listen(session);
    session.stdout.resume();
    const source = new Watched(archive);
    const sent = pipeline(source, session.stdin).catch(() => undefined);
    try {
      await Promise.race([sent, session.exit]);
      if (source.failure !== null) throw source.failure;
      await mustSucceed('tar', session, words);
      if (!source.whole) throw new Error('tar ended before the archive did');
    } catch (error) {
      void session.kill().catch(() => undefined);
      throw error;
    } finally {
      stop();
      session.stdin.destroy();
    }
    await this.bringToDisk(name);
  }

  private async bringToDisk(name: string): Promise<void> {
    const session = await this.run(name, TO_DISK);
    const words = listen(session);
    session.stdin.end();
    session.stdout.resume();
    await mustSucceed('sync', session, words);
  }

  private async connect(name: string, command: string[]): Promise<ExecSession> {
    const start = (wanted: string[]) => this.run(name, wanted);
    return this.direct?.open(name, command, start) ?? start(command);
  }

  private async connectOutput(name: string, command: string[]): Promise<[ExecSession, AsyncIterable<Buffer>]> {
    const start = (wanted: string[]) => this.run(name, wanted);
    if (this.direct) return this.direct.openOutput(name, command, start);
    const session = await start(command);
    return [session, session.stdout as AsyncIterable<Buffer>];
  }

  private run(name: string, command: string[]): Promise<ExecSession> {
    const environment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8' };
    return this.engine.exec(name, { command, user: 0, group: 0, cwd: '/', environment });
  }
}

/** Tells why a source ended, apart from what became of those who read it. */
class Watched {
  whole = false;
  failure: Error | null = null;

  constructor(private readonly source: AsyncIterable<Uint8Array>) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    try {
      yield* this.source;
      this.whole = true;
    } catch (error) {
      this.failure = error instanceof Error ? error : new Error(String(error));
      throw error;
    }
  }
}

function endOn(signal: AbortSignal, session: ExecSession): () => void {
  const end = () => void session.kill().catch(() => undefined);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  return () => signal.removeEventListener('abort', end);
}

/** Takes in what it complains of; resolves once it has said everything, or cannot be heard any more. */
async function listen({ stderr }: ExecSession, heard?: (words: string) => void): Promise<string> {
  let words = '';
  try {
    for await (const chunk of stderr) {
      words = `${words}${String(chunk)}`.slice(-KEPT_STDERR);
      heard?.(words);
    }
  } catch {
    // How it ended is told by its exit code.
  }
  return words;
}

async function mustSucceed(tool: string, { exit }: ExecSession, words: Promise<string>): Promise<void> {
  const code = await exit;
  if (code !== 0) throw new ToolFailed(tool, code, await words);
}
