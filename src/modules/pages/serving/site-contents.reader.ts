import { Injectable } from '@nestjs/common';
import pLimit from 'p-limit';
import { Config } from '../../../config/config.js';
import { BlobStore } from '../../../drivers/objects/blob-store.js';
import { SparingTurns } from '../../../platform/batching/sparing-turns.js';
import { AnswerSlots } from '../../../platform/http/answer-slots.js';
import type { AnswerSource } from '../../../platform/http/paced-answer.js';
import type { Extent } from '../archive/manifest.js';
import { loadManifest, type LoadedManifest } from './loaded-manifest.js';
import type { Shown } from './site-look-ups.service.js';
import { WeighedCache } from './weighed-cache.js';

const MEGABYTE = 1024 * 1024;
/** What is larger is sent as it is read, and kept nowhere. */
const KEPT_BYTES = 2 * MEGABYTE;
/** A manifest of more keeps the thread busy for so long that there are not many of them at a time. */
const LARGE_MANIFEST_BYTES = MEGABYTE / 4;
const SHARE_FOR_LARGE = 1 / 4;
/** Each is in memory while it waits for its turn, and a store that hangs holds up no more of them. */
const LARGE_AT_ONCE = 8;
/** The room that a manifest takes, by the length of its text. */
const manifestWeight = (bytes: number): number => 2 * bytes + 4096;

/** Reads packs. They never change, so what is used often stays in memory. */
@Injectable()
export class SiteContents {
  private readonly manifests: WeighedCache<LoadedManifest>;
  private readonly pieces: WeighedCache<Buffer>;
  /** There are more of them than fit into memory, and anybody may ask for one after the other. */
  private readonly large = new SparingTurns(SHARE_FOR_LARGE);
  private readonly fewAtOnce = pLimit(LARGE_AT_ONCE);

  constructor(
    private readonly blobs: BlobStore,
    private readonly slots: AnswerSlots,
    { pagesCacheMb }: Config,
  ) {
    this.manifests = new WeighedCache((pagesCacheMb * MEGABYTE) / 2);
    this.pieces = new WeighedCache(pagesCacheMb * MEGABYTE);
  }

  manifest({ blobId, manifestAt, manifestBytes }: Shown): LoadedManifest | Promise<LoadedManifest> {
    const read = () => this.read(blobId, { at: manifestAt, bytes: manifestBytes });
    const make = async () => loadManifest(await read());
    const makeInTurn = async () => {
      const bytes = await read();
      return this.large.take(() => loadManifest(bytes));
    };
    const isLarge = manifestBytes > LARGE_MANIFEST_BYTES;
    return this.manifests.get(blobId, isLarge ? () => this.fewAtOnce(makeInTurn) : make, () =>
      manifestWeight(manifestBytes),
    );
  }

  /** All of a file where that is small, at once if it is in memory; else what reads it for that client. */
  whole({ blobId }: Shown, extent: Extent, client: () => string): Buffer | Promise<Buffer | AnswerSource> {
    if (extent.bytes > KEPT_BYTES) return this.part(blobId, extent, client);
    if (extent.bytes === 0) return Buffer.alloc(0);
    return this.pieces.get(
      `${blobId}:${extent.at}`,
      () => this.read(blobId, extent),
      ({ length }) => length,
    );
  }

  part(blobId: string, { at, bytes }: Extent, client: () => string): Promise<AnswerSource> {
    return this.slots.open(client(), () => this.blobs.open(blobId, { start: at, end: at + bytes - 1 }));
  }

  private async read(blobId: string, { at, bytes }: Extent): Promise<Buffer> {
    const content = await this.blobs.read(blobId, { start: at, end: at + bytes - 1 });
    if (content.length !== bytes) throw new Error(`the pack ${blobId} is cut short`);
    return content;
  }
}
