import { Injectable } from '@nestjs/common';
import { LocalSlidingLog } from '../platform/http/sliding-log.js';
import { AppLogger } from '../platform/observability/logger.js';

const MINUTE_MS = 60_000;
const LINES_PER_ADDRESS = 1;
const LINES = 30;

/** Lines about callers that are no service, few enough that nobody can fill the log with them. */
@Injectable()
export class StrangerLog {
  private readonly lines = new LocalSlidingLog(1000);
  private unsaid = 0;

  constructor(private readonly log: AppLogger) {}

  called(address: string): void {
    const may =
      this.lines.peek('all', LINES, MINUTE_MS).accepted &&
      this.lines.hit(`at ${address}`, LINES_PER_ADDRESS, MINUTE_MS).accepted;
    if (!may) {
      this.unsaid++;
      return;
    }
    this.lines.hit('all', LINES, MINUTE_MS);
    this.log.warn({ address, callsNotLogged: this.unsaid }, 'a stranger called the secrets broker');
    this.unsaid = 0;
  }
}
