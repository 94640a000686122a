import { Worker } from 'node:worker_threads';
import type { FetchedPage } from '../modules/seo/audits/page.js';
import type { AuditedPage } from '../modules/seo/audits/page-audit.js';
import { PageAuditor, UnreadablePage } from '../modules/seo/audits/page-auditor.js';

export type AuditOutcome = { audited: AuditedPage } | { failed: string };

/** Far more than the largest page that is read takes: a thread that reaches its limit may take the process with it. */
const MEMORY_MB = 512;
/** The largest page that is taken in is judged in a fraction of it. */
const LONGEST_MS = 10_000;

/**
 * Has pages judged by a thread of its own, so that a page that is hard to read holds up nothing else. A page that takes too much
 * memory or time takes the thread with it; the next page gets a new one.
 */
export class ThreadedAuditor extends PageAuditor {
  private thread: AuditThread | undefined;
  private last: Promise<unknown> = Promise.resolve();

  override audit(page: FetchedPage): Promise<AuditedPage> {
    const mine = this.last.then(() => this.run(page));
    this.last = mine.catch(() => undefined);
    return mine;
  }

  async close(): Promise<void> {
    await this.thread?.end();
    this.thread = undefined;
  }

  private async run(page: FetchedPage): Promise<AuditedPage> {
    const thread = (this.thread ??= new AuditThread());
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      void thread.end();
    }, LONGEST_MS);
    let outcome: AuditOutcome;
    try {
      outcome = await thread.judge(page);
    } catch (error) {
      this.thread = undefined;
      await thread.end();
      const isTooMuch = isLate || (error as { code?: string }).code === 'ERR_WORKER_OUT_OF_MEMORY';
      throw isTooMuch ? new UnreadablePage('the page took too much memory or time', { cause: error }) : error;
    } finally {
      clearTimeout(timer);
    }
    if ('audited' in outcome) return outcome.audited;
    throw new UnreadablePage(outcome.failed);
  }
}

/** A thread that judges one page at a time, until it fails. */
class AuditThread {
  private readonly worker: Worker;
  private waiting: PromiseWithResolvers<AuditOutcome> | undefined;

  constructor() {
    this.worker = new Worker(new URL('./audit-thread.js', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    this.worker.on('message', (outcome: AuditOutcome) => this.waiting?.resolve(outcome));
    this.worker.on('error', (error) => this.waiting?.reject(error));
    this.worker.on('exit', () => this.waiting?.reject(new Error('the thread of the auditor ended')));
    // It waits for work; the process does not wait for it.
    this.worker.unref();
  }

  async judge(page: FetchedPage): Promise<AuditOutcome> {
    this.waiting = Promise.withResolvers();
    this.worker.postMessage(page);
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
