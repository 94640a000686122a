const BLOCK_BYTES = 16 * 1024;

/**
 * Bytes that come in pieces, kept in memory of their own. Whoever sends them chooses the size of the pieces, and each one
 * that is kept as it came would take hundreds of bytes, however little is in it.
 */
export class GatheredBytes {
  private full: Buffer[] = [];
  private block = Buffer.alloc(0);
  private filled = 0;
  private held = 0;

  get size(): number {
    return this.held;
  }

  add(piece: Uint8Array): void {
    for (let at = 0; at < piece.length;) {
      if (this.filled === this.block.length) this.begin(piece.length - at);
      const end = Math.min(piece.length, at + this.block.length - this.filled);
      this.block.set(piece.subarray(at, end), this.filled);
      this.filled += end - at;
      at = end;
    }
    this.held += piece.length;
  }

  /** All of them, and none are held any more. */
  take(): Buffer {
    const all = Buffer.concat([...this.full, this.block.subarray(0, this.filled)], this.held);
    [this.full, this.block, this.filled, this.held] = [[], Buffer.alloc(0), 0, 0];
    return all;
  }

  private begin(bytes: number): void {
    if (this.filled > 0) this.full.push(this.block);
    this.block = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, bytes));
    this.filled = 0;
  }
}
