import { Injectable } from '@nestjs/common';

/** Answers which of these blobs it owns. */
export type BlobOwner = (blobIds: string[]) => Promise<string[]>;

/** Who has blobs in the object store. Whoever puts any tells here how to know them, or they are swept. */
@Injectable()
export class BlobOwners {
  private readonly owners: BlobOwner[] = [];

  register(owner: BlobOwner): void {
    this.owners.push(owner);
  }

  /** Those of these blobs that nobody owns. */
  async orphansAmong(blobIds: string[]): Promise<string[]> {
    const owned = new Set((await Promise.all(this.owners.map((owner) => owner(blobIds)))).flat());
    return blobIds.filter((blobId) => !owned.has(blobId));
  }
}
