/** Pieces of work of one name one after another, within this process; others beside them. */
export class Turns {
  private readonly last = new Map<string, Promise<unknown>>();

  take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(name) ?? Promise.resolve();
    const mine = before.then(work, work);
    const settled = mine.catch(() => undefined);
    this.last.set(name, settled);
    void settled.then(() => {
      if (this.last.get(name) === settled) this.last.delete(name);
    });
    return mine;
  }
}
