export type Severity = 'error' | 'warning' | 'notice';

interface SiteRule {
  severity: Severity;
  title: string;
  /** What is said once of the site rather than of each page. */
  once?: true;
  /** What takes more requests than the page and robots.txt, so it is left out where one page is asked for. */
  crawled?: true;
}

/** What owners of sites ask for beyond Lighthouse's audits. */
export const SITE_RULES = {
  https: { severity: 'error', title: 'Pages are served over HTTPS', once: true },
  'broken-links': { severity: 'error', title: 'Links lead to pages that answer', crawled: true },
  'soft-404': { severity: 'error', title: 'Pages that do not exist answer with 404', once: true, crawled: true },
  'mixed-content': { severity: 'error', title: 'Secure pages load nothing insecurely' },
  'single-h1': { severity: 'error', title: 'Each page has one main heading' },
  'canonical-target': { severity: 'error', title: 'Canonical addresses answer with 200', crawled: true },
  'json-ld': { severity: 'error', title: 'Structured data can be read' },
  'title-length': { severity: 'warning', title: 'Titles have 10 to 60 characters' },
  'description-length': { severity: 'warning', title: 'Descriptions have 50 to 160 characters' },
  'duplicate-title': { severity: 'warning', title: 'No two pages have one title', crawled: true },
  'duplicate-description': { severity: 'warning', title: 'No two pages have one description', crawled: true },
  'duplicate-h1': { severity: 'warning', title: 'No two pages have one main heading', crawled: true },
  'html-lang': { severity: 'warning', title: 'Pages name their language' },
  charset: { severity: 'warning', title: 'Pages declare their encoding' },
  viewport: { severity: 'warning', title: 'Pages fit small screens' },
  'heading-order': { severity: 'warning', title: 'Headings skip no level' },
  'hreflang-reciprocity': {
    severity: 'warning',
    title: 'Versions in other languages answer and name each other',
    crawled: true,
  },
  'redirect-chain': { severity: 'warning', title: 'Pages are one redirect away at most' },
  sitemap: { severity: 'warning', title: 'The sitemap is valid', once: true, crawled: true },
  compression: { severity: 'warning', title: 'Pages are sent compressed' },
  'thin-content': { severity: 'warning', title: 'Pages have 100 words or more' },
  'first-byte': { severity: 'warning', title: 'Pages answer in 800 ms' },
  hsts: { severity: 'notice', title: 'Browsers are told to stay with HTTPS', once: true },
  'html-size': { severity: 'notice', title: 'Pages have 500 kB of HTML at most' },
  'image-dimensions': { severity: 'notice', title: 'Images declare their size' },
  'social-tags': { severity: 'notice', title: 'Pages say how they are shown when shared' },
  'social-image': { severity: 'notice', title: 'Images for sharing can be fetched', crawled: true },
  favicon: { severity: 'notice', title: 'The site has an icon', once: true, crawled: true },
  'cache-headers': { severity: 'notice', title: 'Pages say how long they may be kept' },
} as const satisfies Record<string, SiteRule>;

export type SiteRuleId = keyof typeof SITE_RULES;
export const SITE_RULE_IDS = Object.keys(SITE_RULES) as SiteRuleId[];

const WEIGHTS: Record<Severity, number> = { error: 3, warning: 2, notice: 1 };

/** What is wrong with a page by one of the rules. */
export interface SiteFinding {
  page: string;
  element: string;
  reason: string;
  fix: string;
}

export interface SiteResult {
  id: SiteRuleId;
  severity: Severity;
  title: string;
  /** The share of pages that pass, 0 to 1. */
  passed: number;
  findings: SiteFinding[];
}

/** Most findings that are told of one rule. */
const MOST_FINDINGS = 100;

export function resultsOf(
  findings: ReadonlyMap<SiteRuleId, SiteFinding[]>,
  pages: number,
  crawled: boolean,
): SiteResult[] {
  const rules = SITE_RULE_IDS.filter((id) => crawled || !('crawled' in SITE_RULES[id]));
  return rules.map((id) => {
    const { severity, title } = SITE_RULES[id];
    const found = findings.get(id) ?? [];
    const affected = 'once' in SITE_RULES[id] ? pages : new Set(found.map(({ page }) => page)).size;
    const passed = found.length === 0 ? 1 : 1 - Math.min(1, affected / Math.max(1, pages));
    return { id, severity, title, passed, findings: found.slice(0, MOST_FINDINGS) };
  });
}

/** The weighted mean over the rules, errors three times as heavy as notices; 0 to 100. */
export function siteScoreOf(results: readonly Pick<SiteResult, 'severity' | 'passed'>[]): number {
  const total = results.reduce((sum, { severity }) => sum + WEIGHTS[severity], 0);
  const reached = results.reduce((sum, { severity, passed }) => sum + WEIGHTS[severity] * passed, 0);
  return total === 0 ? 0 : Math.round((100 * reached) / total);
}
