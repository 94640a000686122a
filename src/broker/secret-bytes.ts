/** Bytes that hold secrets: overwritten with zeros as soon as nobody holds them any more. */
export class SecretBytes {
  private holders = 1;
  private giveRoom: (() => void) | null = null;

  constructor(readonly bytes: Buffer) {}

  /** One more holder, who releases it in turn. */
  hold(): this {
    this.holders++;
    return this;
  }

  release(): void {
    this.holders--;
    if (this.holders > 0) return;
    this.bytes.fill(0);
    this.giveRoom?.();
  }

  /** Has `take` take room in memory for them, once, until nobody holds them any more. False where there is none. */
  takeRoom(take: (bytes: number) => (() => void) | null): boolean {
    this.giveRoom ??= take(this.bytes.length);
    return this.giveRoom !== null;
  }
}
