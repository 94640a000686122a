import type { FetchedPage } from '../modules/seo/audits/page.js';
import type { AuditedPage } from '../modules/seo/audits/page-audit.js';
import { PageAuditor, UnreadablePage, type AuditCaller } from '../modules/seo/audits/page-auditor.js';
import { FairSlots } from '../platform/batching/fair-slots.js';
import { ServingThread } from './serving-thread.js';

export type AuditOutcome = { audited: AuditedPage } | { failed: string };

/** Far more than the largest page that is read takes: a thread that reaches its limit may take the process with it. */
const MEMORY_MB = 512;
/** The largest page that is taken in is judged in a fraction of it. */
const LONGEST_MS = 10_000;

/**
 * Has pages judged by a thread of its own, so that a page that is hard to read holds up nothing else. A page that takes too much
 * memory or time takes the thread with it; the next page gets a new one. Accounts take turns, so that nobody waits for more than
 * one page of each other account.
 */
export class ThreadedAuditor extends PageAuditor {
  private thread: ServingThread<FetchedPage, AuditOutcome> | undefined;
  private readonly turns = new FairSlots(1);

  override audit(page: FetchedPage, { accountId, signal }: AuditCaller): Promise<AuditedPage> {
    return this.turns.run(accountId, signal, () => this.run(page, signal));
  }

  async close(): Promise<void> {
    await this.thread?.end();
    this.thread = undefined;
  }

  private async run(page: FetchedPage, signal: AbortSignal): Promise<AuditedPage> {
    signal.throwIfAborted();
    const thread = (this.thread ??= auditThread());
    const late = AbortSignal.timeout(LONGEST_MS);
    const end = (): void => void thread.end();
    for (const reason of [late, signal]) reason.addEventListener('abort', end, { once: true });
    let outcome: AuditOutcome;
    try {
      outcome = await thread.ask(page);
    } catch (error) {
      this.thread = undefined;
      await thread.end();
      signal.throwIfAborted();
      const isTooMuch = late.aborted || (error as { code?: string }).code === 'ERR_WORKER_OUT_OF_MEMORY';
      throw isTooMuch ? new UnreadablePage('the page took too much memory or time', { cause: error }) : error;
    } finally {
      for (const reason of [late, signal]) reason.removeEventListener('abort', end);
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
