import type { FetchedPage } from './page.js';
import type { AuditedPage } from './page-audit.js';

/** A page that could not be judged: it took too much memory or time. */
export class UnreadablePage extends Error {}

/** Judges pages where they hold nobody up. */
export abstract class PageAuditor {
  /** Throws {@link UnreadablePage}. */
  abstract audit(page: FetchedPage): Promise<AuditedPage>;
}
