import { EngineError } from '../engine.js';
import type { LxdContext } from './lxd-context.js';

/**
 * The engine reaches the files of an instance through a process that it starts when it is asked and ends soon after. Who asks
 * just as one ends, or as that of another instance takes its socket away, is refused, and heard when he asks again
 * (canonical/lxd#18403).
 */
const PROCESS_GONE = /forkfile\.sock/;
const TRIES = 4;

export interface FileToWrite {
  type: 'file' | 'directory';
  mode: number;
  content?: Buffer | string;
  append?: boolean;
}

/** Files inside of instances. What is written belongs to root. */
export class LxdFiles {
  constructor(private readonly context: LxdContext) {}

  /** Null where there is no such file, or no such instance. */
  read(instance: string, file: string): Promise<Buffer | null> {
    return tried(() => this.context.transport.content(address(instance), { query: { path: file } }));
  }

  async write(instance: string, file: string, { type, mode, content = '', append }: FileToWrite): Promise<void> {
    const { headerPrefix } = await this.context.dialect();
    await tried(() =>
      this.context.transport.call('POST', address(instance), {
        query: { path: file },
        stream: Buffer.from(content),
        headers: {
          [`${headerPrefix}type`]: type,
          [`${headerPrefix}write`]: append ? 'append' : 'overwrite',
          [`${headerPrefix}uid`]: '0',
          [`${headerPrefix}gid`]: '0',
          [`${headerPrefix}mode`]: mode.toString(8).padStart(4, '0'),
        },
      }),
    );
  }
}

async function tried<T>(ask: () => Promise<T>): Promise<T> {
  for (let left = TRIES - 1; ; left--) {
    try {
      return await ask();
    } catch (error) {
      if (left === 0 || !(error instanceof EngineError) || !PROCESS_GONE.test(error.message)) throw error;
    }
  }
}

function address(instance: string): string {
  return `/instances/${encodeURIComponent(instance)}/files`;
}
