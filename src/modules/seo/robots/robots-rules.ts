import robotsParser from 'robots-parser';
import type { RobotsFile } from '../audits/page.js';

/** What is asked of a robots.txt that was read. */
export interface RobotsRules {
  /** Undefined for the address of another site. */
  isAllowed(url: string, agent?: string): boolean | undefined;
  getMatchingLineNumber(url: string, agent?: string): number;
  /** Seconds. */
  getCrawlDelay(agent?: string): number | undefined;
  getSitemaps(): string[];
}

// The package is the function itself, which its types do not say.
const parse = robotsParser as unknown as (url: string, content: string) => RobotsRules;

/** The rules of the site that a page belongs to; undefined where there are none. */
export function robotsRules(page: URL, { status, content }: RobotsFile): RobotsRules | undefined {
  if (status === null || status >= 400 || content === '') return undefined;
  return parse(new URL('/robots.txt', page).href, content);
}
