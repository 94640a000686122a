import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { EngineError, type EngineImage, type RemoteImage } from '../engine.js';
import type { LxdContext } from './lxd-context.js';

interface ImageRecord {
  fingerprint: string;
  size: number;
  properties: Record<string, string>;
  aliases: { name: string }[];
}

export interface ImageFile {
  alias: string;
  file: string;
  properties: Record<string, string>;
}

const IMPORT_MS = 10 * 60_000;

export class LxdImages {
  constructor(private readonly context: LxdContext) {}

  async listImages(): Promise<EngineImage[]> {
    const images = await this.context.transport.get<ImageRecord[]>('/images', { query: { recursion: '1' } });
    return images.flatMap(({ fingerprint, size, properties, aliases }) =>
      aliases.map(({ name }) => ({ alias: name, fingerprint, sizeBytes: size, properties })),
    );
  }

  async importImage({ alias, file, properties }: ImageFile): Promise<void> {
    const fingerprint = await sha256(file);
    const known = await this.fingerprints();
    if (!known.includes(fingerprint)) await this.upload(file, fingerprint, properties);
    await this.putUnder(alias, fingerprint);
  }

  async fetchImage({ alias, server, source, properties }: RemoteImage): Promise<void> {
    const fetched = await this.context.operations.run('POST', '/images', {
      body: {
        source: {
          type: 'image',
          mode: 'pull',
          protocol: 'simplestreams',
          server,
          alias: source,
          image_type: 'container',
        },
        auto_update: false,
      },
      waitMs: IMPORT_MS,
    });
    const fingerprint = fetched?.metadata?.fingerprint;
    if (typeof fingerprint !== 'string')
      throw new EngineError('failed', `${source}: the engine does not say what it got`);
    const path = `/images/${fingerprint}`;
    const record = await this.context.transport.get<ImageRecord>(path);
    const body = { properties: { ...record.properties, ...properties } };
    await this.context.transport.call('PATCH', path, { body });
    await this.putUnder(alias, fingerprint);
  }

  /** An image that had the name before is removed. */
  private async putUnder(alias: string, fingerprint: string): Promise<void> {
    const previous = await this.pointAlias(alias, fingerprint);
    await this.unpack(fingerprint);
    if (previous !== null && previous !== fingerprint) {
      await this.context.operations.run('DELETE', `/images/${previous}`).catch(ignoreMissing);
    }
  }

  private async fingerprints(): Promise<string[]> {
    const paths = await this.context.transport.get<string[]>('/images');
    return paths.map((path) => path.split('?')[0]?.split('/').pop() ?? '');
  }

  private async upload(file: string, fingerprint: string, properties: Record<string, string>): Promise<void> {
    const { headerPrefix } = await this.context.dialect();
    await this.context.operations.run('POST', '/images', {
      stream: createReadStream(file),
      headers: {
        [`${headerPrefix}fingerprint`]: fingerprint,
        [`${headerPrefix}filename`]: 'image.tar.zst',
        [`${headerPrefix}properties`]: new URLSearchParams(properties).toString(),
        [`${headerPrefix}public`]: '0',
      },
      timeoutMs: IMPORT_MS,
      waitMs: IMPORT_MS,
    });
  }

  /** Answers what the alias stood for before. */
  private async pointAlias(alias: string, target: string): Promise<string | null> {
    const { transport } = this.context;
    const path = `/images/aliases/${encodeURIComponent(alias)}`;
    try {
      const found = await transport.get<{ target: string }>(path);
      if (found.target !== target) await transport.call('PUT', path, { body: { target, description: '' } });
      return found.target;
    } catch (error) {
      ignoreMissing(error);
      await transport.call('POST', '/images/aliases', { body: { name: alias, target, description: '' } });
      return null;
    }
  }

  /** An engine unpacks an image into the pool at its first use. Doing it now spares the first service some seconds. */
  private async unpack(fingerprint: string): Promise<void> {
    const { operations, pool } = this.context;
    const name = `unpack-${randomBytes(8).toString('hex')}`;
    const path = `/instances/${name}`;
    await operations.run('POST', '/instances', {
      body: {
        name,
        type: 'container',
        profiles: [],
        source: { type: 'image', fingerprint },
        devices: { root: { type: 'disk', path: '/', pool } },
      },
      waitMs: IMPORT_MS,
    });
    await operations.run('DELETE', path).catch(ignoreMissing);
  }
}

async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof EngineError) || error.code !== 'not_found') throw error;
}
