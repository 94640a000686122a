/** How much memory somebody may take, and all together, in one process. In bytes. */
export interface MemoryBounds {
  ofOne: number;
  ofAll: number;
}

/** Memory that requests take up for as long as they last, counted by who sends them. */
export class MemoryRoom {
  private readonly taken = new Map<string, number>();
  private all = 0;

  /** `refusal` makes the error for whom there is no room. */
  constructor(
    private readonly bounds: MemoryBounds,
    private readonly refusal: () => Error,
  ) {}

  /** Takes room for somebody until the answer is called; throws where there is too little of it. */
  take(name: string, bytes: number): () => void {
    const own = this.taken.get(name) ?? 0;
    if (own + bytes > this.bounds.ofOne || this.all + bytes > this.bounds.ofAll) throw this.refusal();
    this.change(name, bytes);
    let given = false;
    return () => {
      if (!given) this.change(name, -bytes);
      given = true;
    };
  }

  private change(name: string, bytes: number): void {
    this.all += bytes;
    const own = (this.taken.get(name) ?? 0) + bytes;
    if (own > 0) this.taken.set(name, own);
    else this.taken.delete(name);
  }
}
