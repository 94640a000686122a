import { parentPort } from 'node:worker_threads';
import { auditPage } from '../modules/seo/audits/page-audit.js';
import type { AuditJob, AuditOutcome } from './threaded-auditor.js';

/** What runs in the thread of the threaded auditor: one page after another. */
parentPort!.on('message', ({ id, page }: AuditJob) => {
  let outcome: AuditOutcome;
  try {
    outcome = { id, audited: auditPage(page) };
  } catch (error) {
    outcome = { id, failed: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
  parentPort!.postMessage(outcome);
});
