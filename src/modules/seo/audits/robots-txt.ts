import { robotsLines } from '../robots/robots-lines.js';
import { MOST_FINDINGS, type Audit, type Finding } from './audit.js';
import { cut } from './html.js';

const KNOWN = new Set([
  ...['user-agent', 'disallow', 'allow', 'sitemap', 'crawl-delay', 'clean-param', 'host', 'request-rate'],
  ...['visit-time', 'noindex', 'content-signal'],
]);
const OF_A_GROUP = new Set(['allow', 'disallow']);
const SITEMAP_SCHEMES = ['https:', 'http:', 'ftp:'];

export const robotsTxt: Audit = {
  id: 'robots-txt',
  weight: 1,
  title: 'robots.txt is valid',
  judge({ fetched: { robots } }) {
    const { status, content } = robots;
    if (status === null || status >= 500) {
      return [
        {
          element: 'robots.txt',
          reason: status === null ? 'robots.txt cannot be fetched.' : `robots.txt answers with status ${status}.`,
          fix: 'Serve robots.txt with 200, or with 404 when there is none.',
        },
      ];
    }
    if (status >= 400 || content === '') return 'not_applicable';
    return faultsIn(content);
  },
};

/** The first so many as are told. */
function faultsIn(content: string): Finding[] {
  const findings: Finding[] = [];
  let inGroup = false;
  for (const { number, text, field } of robotsLines(content)) {
    const reason = field ? faultOf(field.name, field.value) : 'The line is not of the form name: value.';
    const orphaned = reason === undefined && !inGroup && OF_A_GROUP.has(field!.name);
    if (reason === undefined && field!.name === 'user-agent') inGroup = true;
    if (reason === undefined && !orphaned) continue;
    findings.push({
      element: cut(`robots.txt, line ${number}: ${text}`),
      reason: reason ?? 'The rule stands before any user-agent.',
      fix: 'Correct the line or remove it.',
    });
    if (findings.length === MOST_FINDINGS) break;
  }
  return findings;
}

function faultOf(name: string, value: string): string | undefined {
  if (!KNOWN.has(name)) return `"${cut(name, 40)}" is no directive of robots.txt.`;
  if (name === 'sitemap') {
    if (!URL.canParse(value)) return 'The sitemap is not given by its full address.';
    return SITEMAP_SCHEMES.includes(new URL(value).protocol) ? undefined : 'The scheme of the sitemap is unusable.';
  }
  if (name === 'user-agent' && value === '') return 'No user-agent is named.';
  if (!OF_A_GROUP.has(name)) return undefined;
  if (value !== '' && !/^[/*]/.test(value)) return 'The pattern begins neither with / nor with *.';
  const dollar = value.indexOf('$');
  return dollar === -1 || dollar === value.length - 1 ? undefined : 'A $ stands elsewhere than at the end.';
}
