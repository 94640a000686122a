import type { FetchedPage } from './page.js';
import type { AuditedPage } from './page-audit.js';

/** A page that could not be judged: it took too much memory or time. */
export class UnreadablePage extends Error {}

/** For whom a page is judged: accounts take turns. */
export interface AuditCaller {
  accountId: string;
  signal: AbortSignal;
}

/** Judges pages where they hold nobody up. */
export abstract class PageAuditor {
  /** Throws {@link UnreadablePage}, or what the signal was aborted with. */
  abstract audit(page: FetchedPage, by: AuditCaller): Promise<AuditedPage>;
}
