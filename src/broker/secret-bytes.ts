/** Bytes that hold secrets: overwritten with zeros as soon as nobody holds them any more. */
export class SecretBytes {
  private holders = 1;

  constructor(readonly bytes: Buffer) {}

  /** One more holder, who releases it in turn. */
  hold(): this {
    this.holders++;
    return this;
  }

  release(): void {
    this.holders--;
    if (this.holders === 0) this.bytes.fill(0);
  }
}
