import { Worker } from 'node:worker_threads';
import type { FetchedPage } from '../modules/seo/audits/page.js';
import type { AuditedPage } from '../modules/seo/audits/page-audit.js';
import { PageAuditor, UnreadablePage } from '../modules/seo/audits/page-auditor.js';

export interface AuditJob {
  id: number;
  page: FetchedPage;
}

export type AuditOutcome = { id: number } & ({ audited: AuditedPage } | { failed: string });

const MEMORY_MB = 128;
/** The largest page that is taken in is judged in a fraction of it. */
const LONGEST_MS = 10_000;

/**
 * Has pages judged by a thread of its own, so that a page that is hard to read holds up nothing else. A page that takes too much
 * memory or time takes the thread with it; the next page gets a new one.
 */
export class ThreadedAuditor extends PageAuditor {
  private thread: Worker | undefined;
  private last: Promise<unknown> = Promise.resolve();
  private jobs = 0;

  override audit(page: FetchedPage): Promise<AuditedPage> {
    const mine = this.last.then(() => this.run(page));
    this.last = mine.catch(() => undefined);
    return mine;
  }

  async close(): Promise<void> {
    await this.thread?.terminate();
    this.thread = undefined;
  }

  private async run(page: FetchedPage): Promise<AuditedPage> {
    const thread = (this.thread ??= this.start());
    const id = ++this.jobs;
    const timer = setTimeout(() => void thread.terminate(), LONGEST_MS);
    try {
      const outcome = await new Promise<AuditOutcome>((resolve, reject) => {
        thread.once('message', resolve);
        thread.once('error', reject);
        thread.once('exit', () => reject(new Error('the thread ended')));
        thread.postMessage({ id, page } satisfies AuditJob);
      });
      if ('audited' in outcome) return outcome.audited;
      throw new UnreadablePage(outcome.failed);
    } catch (error) {
      if (error instanceof UnreadablePage) throw error;
      this.thread = undefined;
      await thread.terminate();
      throw new UnreadablePage('the page took too much memory or time', { cause: error });
    } finally {
      clearTimeout(timer);
      thread.removeAllListeners();
      // What it says when nobody listens any more is said by its end.
      thread.on('error', () => undefined);
    }
  }

  private start(): Worker {
    const thread = new Worker(new URL('./audit-thread.js', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    // It waits for work; the process does not wait for it.
    thread.unref();
    return thread;
  }
}
