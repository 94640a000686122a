import type { Page } from './page.js';

/** What is wrong, in one sentence, and what to do about it, in another. */
export interface Finding {
  /** What it is about: a tag, a header, a line. */
  element: string;
  reason: string;
  fix: string;
}

/** `not_applicable` where a page has nothing to judge, else what is wrong with it. */
export type Verdict = Finding[] | 'not_applicable';

/** One of Lighthouse's audits of its SEO category (13.5.0), by its id and its weight there. */
export interface Audit {
  id: string;
  weight: number;
  title: string;
  judge(page: Page): Verdict;
}

/** Findings that are told of one audit at most. */
export const MOST_FINDINGS = 50;
