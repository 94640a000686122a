import { Injectable, Module } from '@nestjs/common';
import { UnderWay } from '../batching/under-way.js';
import { DomainError } from '../errors/domain-error.js';
import { addressBucket } from './client-address.js';
import type { AnswerSource } from './paced-answer.js';

/** More than people behind one address open side by side. */
const PER_ADDRESS = 50;
/** Each holds memory, and what it reads from: a file, or a connection to the store, of which there are more than these. */
const PER_PROCESS = 1000;

/**
 * How many answers may be sent as they are read at once: a client may take hours for one, so that no limit of requests per
 * minute bounds how many are open.
 */
@Injectable()
export class AnswerSlots {
  private readonly underWay = new UnderWay();

  /** Opens what is to be sent. It counts until it is closed. */
  async open(address: string, open: () => Promise<AnswerSource>): Promise<AnswerSource> {
    const bucket = addressBucket(address);
    if (this.underWay.of(bucket) >= PER_ADDRESS) throw tooMany('rate_limited', 'too_many_downloads', 10);
    if (this.underWay.total >= PER_PROCESS) throw tooMany('unavailable', 'downloads_unavailable', 5);
    const end = this.underWay.begin(bucket);
    try {
      return new CountedSource(await open(), end);
    } catch (error) {
      end();
      throw error;
    }
  }
}

/** One for all that answer so in a process, or each would count for itself. */
@Module({ providers: [AnswerSlots], exports: [AnswerSlots] })
export class AnswerSlotsModule {}

class CountedSource implements AnswerSource {
  constructor(
    private readonly source: AnswerSource,
    private readonly closed: () => void,
  ) {}

  read(into: Buffer): Promise<number> {
    return this.source.read(into);
  }

  stillThere(): Promise<boolean> {
    return this.source.stillThere();
  }

  async close(): Promise<void> {
    this.closed();
    await this.source.close();
  }
}

function tooMany(kind: 'rate_limited' | 'unavailable', code: string, retryAfterSeconds: number): DomainError {
  return new DomainError(kind, code, 'Too many downloads are under way at once.', { retryAfterSeconds });
}
