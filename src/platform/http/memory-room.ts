/** How much memory somebody may take, and all together, in one process. In bytes. */
export interface MemoryBounds {
  /** A share is one of the room that is left: however many fill theirs, there is some for the next. */
  ofOne: number | { share: number };
  ofAll: number;
}

/** Memory that is taken up for as long as something lasts, counted by whom it is for. */
export class MemoryRoom {
  private readonly taken = new Map<string, number>();
  private all = 0;

  constructor(private readonly bounds: MemoryBounds) {}

  /** Takes room for somebody until the answer is called; null where there is too little of it. */
  tryTake(name: string, bytes: number): (() => void) | null {
    const own = (this.taken.get(name) ?? 0) + bytes;
    if (own > this.mostOfOne || this.all + bytes > this.bounds.ofAll) return null;
    this.change(name, bytes);
    let given = false;
    return () => {
      if (!given) this.change(name, -bytes);
      given = true;
    };
  }

  /** The same, throwing what `refusal` makes. */
  take(name: string, bytes: number, refusal: () => Error): () => void {
    const give = this.tryTake(name, bytes);
    if (!give) throw refusal();
    return give;
  }

  private get mostOfOne(): number {
    const { ofOne, ofAll } = this.bounds;
    return typeof ofOne === 'number' ? ofOne : (ofAll - this.all) * ofOne.share;
  }

  private change(name: string, bytes: number): void {
    this.all += bytes;
    const own = (this.taken.get(name) ?? 0) + bytes;
    if (own > 0) this.taken.set(name, own);
    else this.taken.delete(name);
  }
}
