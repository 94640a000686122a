import { findSignals, type PageSignals } from '../site/page-signals.js';
import { canonical } from './canonical.js';
import { documentTitle, httpStatusCode, metaDescription, structuredData } from './head-audits.js';
import { hreflang } from './hreflang.js';
import { imageAlt } from './image-alt.js';
import { isCrawlable } from './is-crawlable.js';
import { crawlableAnchors, linkText } from './link-audits.js';
import { Page, type FetchedPage } from './page.js';
import { robotsTxt } from './robots-txt.js';
import type { Audit, Finding } from './audit.js';

/** In the order of Lighthouse's own report. */
export const AUDITS: readonly Audit[] = [
  ...[isCrawlable, documentTitle, metaDescription, httpStatusCode, linkText, crawlableAnchors, robotsTxt],
  ...[imageAlt, hreflang, canonical, structuredData],
];

export interface AuditResult {
  id: string;
  /** Null where it does not apply. */
  score: 0 | 1 | null;
  weight: number;
  title: string;
  findings: Finding[];
}

export interface AuditedPage {
  audits: AuditResult[];
  /** 0 to 100. */
  score: number;
  signals: PageSignals;
}

/** Judges one page. */
export function auditPage(fetched: FetchedPage): AuditedPage {
  const page = new Page(fetched);
  const audits = AUDITS.map((audit) => resultOf(audit, page));
  return { audits, score: scoreOf(audits), signals: findSignals(page) };
}

function resultOf(audit: Audit, page: Page): AuditResult {
  const { id, weight, title } = audit;
  const verdict = audit.judge(page);
  if (verdict === 'not_applicable') return { id, score: null, weight, title, findings: [] };
  return { id, score: verdict.length === 0 ? 1 : 0, weight, title, findings: verdict };
}

/** The weighted mean of what applies, in whole percent, as Lighthouse rounds it. */
export function scoreOf(audits: readonly Pick<AuditResult, 'score' | 'weight'>[]): number {
  const counted = audits.filter(({ score, weight }) => score !== null && weight > 0);
  const total = counted.reduce((sum, { weight }) => sum + weight, 0);
  if (total === 0) return 0;
  return Math.round((100 * counted.reduce((sum, { score, weight }) => sum + score! * weight, 0)) / total);
}
