import type { AuditView, FindingView, PageReportView, ReportView, SiteRuleView } from '../dto/seo.dto.js';
import { STYLE } from './style.js';

/**
 * What the page may do: show itself. Its text comes from sites of strangers; all of it is escaped, and where something slipped
 * through nothing would run or be loaded.
 */
export const REPORT_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; sandbox";

/** A report as one file that needs nothing else, to be read, sent on and printed. */
export function htmlReport(report: ReportView): string {
  const { host, url, createdAt, pages, site } = report;
  const failed = site.filter(({ findings }) => findings.length > 0);
  const passed = site.filter(({ findings }) => findings.length === 0);
  const date = new Date(createdAt).toISOString().slice(0, 16).replace('T', ' ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${text(`SEO report of ${host}, ${date.slice(0, 10)}`)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>SEO report <span class="host">${text(host)}</span></h1>
<p class="meta">${text(url)}<br>${date} UTC · ${pages.length} ${pages.length === 1 ? 'page' : 'pages'} · ${seconds(report.durationMs)}</p>
<div class="scores">${score(report.score, 'Search engines', 'mean of the pages, scored as Lighthouse does')}${score(report.siteScore, 'Site', 'rules about the site as a whole')}</div>
</header>
<main>
<section>
<h2>Pages</h2>
<div class="wide"><table>
<thead><tr><th>Page</th><th class="n">Score</th><th class="n">Status</th><th class="n">Size</th><th class="n">Time</th><th class="n">Faults</th></tr></thead>
<tbody>
${pages.map(row).join('\n')}
</tbody>
</table></div>
</section>
<section>
<h2>Site rules</h2>
${failed.map(rule).join('\n') || '<p class="good">Nothing found.</p>'}
${passed.length > 0 ? `<h3 class="quiet">Passed</h3>\n<ul class="passed">${passed.map(({ title }) => `<li>${text(title)}</li>`).join('')}</ul>` : ''}
</section>
${pages.map(page).join('\n')}
</main>
<footer>Pages are judged as they are served, without their scripts.</footer>
</body>
</html>
`;
}

function row(
  { url, title, score: value, status, bytes, ms, truncated, audits }: PageReportView,
  index: number,
): string {
  const faults = audits.reduce((sum, { findings }) => sum + findings.length, 0);
  const name = title === '' ? '<em>without a title</em>' : text(title);
  return `<tr><td><a href="#page-${index + 1}">${name}</a><br><span class="url">${text(url)}</span></td><td class="n ${grade(value)}"><b>${value}</b></td><td class="n">${status}</td><td class="n">${truncated ? '≥ ' : ''}${kilobytes(bytes)}</td><td class="n">${ms} ms</td><td class="n">${faults}</td></tr>`;
}

function rule({ severity, title, findings }: SiteRuleView): string {
  const items = findings.map((finding) => item(finding, `<p class="url">${text(finding.page)}</p>`)).join('\n');
  return `<article><h3><span class="tag ${severity}">${severity}</span> ${text(title)} <span class="count">${findings.length}</span></h3>\n<ul class="findings">${items}</ul></article>`;
}

function page({ url, title, score: value, audits }: PageReportView, index: number): string {
  const failed = audits.filter((audit) => audit.score === 0);
  return `<section class="page" id="page-${index + 1}">
<h2><span class="badge ${grade(value)}">${value}</span> ${title === '' ? '<em>without a title</em>' : text(title)}</h2>
<p class="url">${text(url)}</p>
${failed.map(fault).join('\n') || '<p class="good">All audits passed.</p>'}
<ul class="audits">${audits.map(verdict).join('')}</ul>
</section>`;
}

function fault({ title, findings }: AuditView): string {
  const items = findings.map((finding) => item(finding)).join('\n');
  return `<article><h3><span class="tag error">failed</span> ${text(title)} <span class="count">${findings.length}</span></h3>\n<ul class="findings">${items}</ul></article>`;
}

function item({ element, reason, fix }: FindingView, before = ''): string {
  return `<li>${before}<code>${text(element)}</code><p>${text(reason)} <b>${text(fix)}</b></p></li>`;
}

function verdict({ id, score: value }: AuditView): string {
  const [mark, word] = value === null ? ['–', 'none'] : value === 1 ? ['✓', 'good'] : ['✗', 'bad'];
  return `<li class="${word}">${mark} ${text(id)}</li>`;
}

function score(value: number, name: string, what: string): string {
  return `<div class="score ${grade(value)}"><b>${value}</b><span><strong>${name}</strong><br>${what}</span></div>`;
}

/** As Lighthouse colours them. */
function grade(value: number): string {
  return value >= 90 ? 'good' : value >= 50 ? 'fair' : 'bad';
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(bytes < 10_000 ? 1 : 0)} kB`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function text(value: string): string {
  return value.replace(/[&<>"']/g, (char) => ESCAPES[char]!);
}
