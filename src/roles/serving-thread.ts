import { Worker, type WorkerOptions } from 'node:worker_threads';

/** A thread that answers one question after another, until it fails. It waits for work; the process does not wait for it. */
export class ServingThread<Q, A> {
  private readonly worker: Worker;
  private waiting: PromiseWithResolvers<A> | undefined;

  /** `script` answers each message with one; `what` it is for is named when it ends. */
  constructor(script: URL, what: string, options: WorkerOptions = {}) {
    this.worker = new Worker(script, options);
    this.worker.on('message', (answer: A) => this.waiting?.resolve(answer));
    this.worker.on('error', (error) => this.waiting?.reject(error));
    this.worker.on('exit', () => this.waiting?.reject(new Error(`the thread of ${what} ended`)));
    this.worker.unref();
  }

  /** One at a time. Who hears of a failure ends the thread: it is of no further use. */
  async ask(question: Q): Promise<A> {
    this.worker.postMessage(question);
    this.waiting = Promise.withResolvers();
    try {
      return await this.waiting.promise;
    } finally {
      this.waiting = undefined;
    }
  }

  async end(): Promise<void> {
    await this.worker.terminate();
  }
}
