import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';

/** Tells whoever waits for something on behalf of a client that the process is about to end. */
@Injectable()
export class Shutdown implements BeforeApplicationShutdown {
  private readonly controller = new AbortController();

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  beforeApplicationShutdown(): void {
    this.controller.abort();
  }
}
