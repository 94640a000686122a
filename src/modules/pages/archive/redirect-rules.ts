import { countPlaces, MAX_PLACES, pathPattern } from './path-pattern.js';
import { ruleLines, type Warnings } from './rule-lines.js';

/** A line of `_redirects`. */
export interface RedirectRule {
  from: string;
  to: string;
  status: number;
  /** Also where a file of that name is. */
  force: boolean;
}

export const REDIRECTS_FILE = '_redirects';
const MAX_RULES = 2100;
const MAX_LINE = 1000;
const REDIRECTING = new Set([301, 302, 303, 307, 308]);
/** What is answered with content of the site, at the address that was asked for. */
export const REWRITING: ReadonlySet<number> = new Set([200, 404]);

/**
 * Reads `_redirects` as Netlify and Cloudflare Pages know it: `from to [status]`, 301 when absent, `!` after the status for
 * also where a file is. What has no effect here is warned of: conditions, and 200 to another host, as nothing is fetched
 * from elsewhere on behalf of a visitor.
 */
export function parseRedirects(content: Buffer, warnings: Warnings): RedirectRule[] {
  const rules: RedirectRule[] = [];
  for (const { number, text } of ruleLines(REDIRECTS_FILE, content)) {
    const rule = text.length > MAX_LINE ? `is longer than ${MAX_LINE} characters` : parseLine(text);
    if (typeof rule === 'string') warnings.add(REDIRECTS_FILE, number, `The line ${rule}.`);
    else if (rules.length < MAX_RULES) rules.push(rule);
    else warnings.add(REDIRECTS_FILE, number, `Only the first ${MAX_RULES} rules have an effect.`);
  }
  return rules;
}

/** The rule, or what is wrong with it. */
function parseLine(text: string): RedirectRule | string {
  const [from = '', to = '', code = '301', ...rest] = text.split(/[ \t]+/);
  if (/^[\w-]+=/.test(to) || rest.length > 0) return 'has a condition, which is not supported';
  if (to === '') return 'names no target';
  if (/^https?:/i.test(from)) return 'names a host to redirect from, which is not supported';
  const [, digits, mark] = /^(\d{3})(!?)$/.exec(code) ?? [];
  const status = Number(digits);
  if (!REDIRECTING.has(status) && !REWRITING.has(status)) return 'has an unknown status';
  if (!pathPattern(from, 'at_end')) return 'does not start with a path such as /old, /blog/:slug or /old/*';
  const local = /^\/(?![/\\])/.test(to);
  if (!local && REWRITING.has(status)) return 'serves content of another host, which is not supported';
  if (!local && !isWebAddress(to)) return 'leads neither to a path nor to a web address';
  if (/[^\x21-\x7e]/.test(to) && !local) return 'has a target that is not percent-encoded';
  if (countPlaces(to, from) > MAX_PLACES) return `has parts of the path in its target more than ${MAX_PLACES} times`;
  return { from, to, status, force: mark === '!' };
}

function isWebAddress(text: string): boolean {
  return /^https?:\/\/[^/\\]/i.test(text) && URL.canParse(text.replace(/:(?=[A-Za-z])/g, 'x'));
}
