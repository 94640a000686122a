import type { PageReportView, SiteRuleView } from '../dto/seo.dto.js';

/** What a report is made of. */
export interface Findings {
  pages: PageReportView[];
  site: SiteRuleView[];
}

/** Of a report as JSON. Reports of twenty pages with faults everywhere are about as large. */
export const MAX_REPORT_BYTES = 2 * 1_048_576;

/** With so many findings of each audit and rule that the report stays small enough: what repeats most is told less often. */
export function boundedFindings(report: Findings, maxBytes = MAX_REPORT_BYTES): Findings {
  let bounded = report;
  for (let most = mostOf(report); most > 1 && Buffer.byteLength(JSON.stringify(bounded)) > maxBytes;) {
    most = Math.ceil(most / 2);
    bounded = withMost(report, most);
  }
  return bounded;
}

function mostOf({ pages, site }: Findings): number {
  return Math.max(0, ...[...pages.flatMap(({ audits }) => audits), ...site].map(({ findings }) => findings.length));
}

function withMost({ pages, site }: Findings, most: number): Findings {
  const cut = <T extends { findings: unknown[] }>(one: T): T => ({ ...one, findings: one.findings.slice(0, most) });
  return { pages: pages.map((page) => ({ ...page, audits: page.audits.map(cut) })), site: site.map(cut) };
}
