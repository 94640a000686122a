import type { FetchedPage } from '../modules/seo/audits/page.js';
import type { AuditedPage } from '../modules/seo/audits/page-audit.js';
import { PageAuditor, UnreadablePage } from '../modules/seo/audits/page-auditor.js';
import { ServingThread } from './serving-thread.js';

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
  private thread: ServingThread<FetchedPage, AuditOutcome> | undefined;
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
    const thread = (this.thread ??= auditThread());
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      void thread.end();
    }, LONGEST_MS);
    let outcome: AuditOutcome;
    try {
      outcome = await thread.ask(page);
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

function auditThread(): ServingThread<FetchedPage, AuditOutcome> {
  return new ServingThread(new URL('./audit-thread.js', import.meta.url), 'the auditor', {
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
  });
}
