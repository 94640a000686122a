import { parentPort } from 'node:worker_threads';
import { auditPage } from '../modules/seo/audits/page-audit.js';
import type { FetchedPage } from '../modules/seo/audits/page.js';
import type { AuditOutcome } from './threaded-auditor.js';

/** What runs in the thread of the threaded auditor: one page after another. */
parentPort!.on('message', (page: FetchedPage) => {
  let outcome: AuditOutcome;
  try {
    outcome = { audited: auditPage(page) };
  } catch (error) {
    outcome = { failed: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
  parentPort!.postMessage(outcome);
});
