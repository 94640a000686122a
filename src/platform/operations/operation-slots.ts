interface Waiting {
  accountId: string;
  begin: () => void;
}

/**
 * How many operations of the handlers that share this may be under way in one process. The others stay queued and take up
 * neither a place in the queue's worker nor a connection. Accounts have their turns one after the other; among those of one
 * account it is the order they came in that counts.
 */
export class OperationSlots {
  private readonly waiting = new Map<string, Waiting>();
  /** In the order in which they had their last turn. */
  private readonly served = new Set<string>();

  constructor(private free: number) {}

  /** False when there is none; `begin` is then called with a slot in hand as soon as it is this one's turn. */
  take({ id, accountId }: { id: string; accountId: string }, begin: () => void): boolean {
    if (this.free <= 0) {
      this.waiting.set(id, { accountId, begin });
      return false;
    }
    this.hand(accountId);
    return true;
  }

  giveBack(): void {
    this.free++;
    const next = this.next();
    if (next === undefined) return this.served.clear();
    const [id, { accountId, begin }] = next;
    this.waiting.delete(id);
    this.hand(accountId);
    begin();
  }

  private hand(accountId: string): void {
    this.free--;
    this.served.delete(accountId);
    this.served.add(accountId);
  }

  /** Of an account that has had no turn yet, or else of the one whose turn is longest ago. */
  private next(): [id: string, Waiting] | undefined {
    const first = new Map<string, [string, Waiting]>();
    for (const entry of this.waiting) {
      const { accountId } = entry[1];
      if (!this.served.has(accountId)) return entry;
      if (!first.has(accountId)) first.set(accountId, entry);
    }
    for (const accountId of this.served) if (first.has(accountId)) return first.get(accountId);
    return undefined;
  }
}
