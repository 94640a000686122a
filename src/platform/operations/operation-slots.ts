/**
 * How many operations of the handlers that share this may be under way in one process. The others stay queued, in the order
 * they came, and take up neither a place in the queue's worker nor a connection.
 */
export class OperationSlots {
  private readonly waiting = new Map<string, () => void>();

  constructor(private free: number) {}

  /** False when there is none; `begin` is then called with a slot in hand as soon as it is this one's turn. */
  take(operationId: string, begin: () => void): boolean {
    if (this.free <= 0) {
      this.waiting.set(operationId, begin);
      return false;
    }
    this.free--;
    return true;
  }

  /** For what has begun elsewhere and must go on, whether one is free or not. */
  takeAnyway(): void {
    this.free--;
  }

  giveBack(): void {
    this.free++;
    const [next] = this.waiting;
    if (this.free <= 0 || next === undefined) return;
    const [operationId, begin] = next;
    this.waiting.delete(operationId);
    this.free--;
    begin();
  }
}
