import { robotsRules, type RobotsRule, type RobotsRules } from '../robots/robots-rules.js';
import type { Audit, Finding } from './audit.js';
import { attribute, cut, snippet } from './html.js';
import type { Page } from './page.js';

const BOTS = ['Googlebot', 'bingbot', 'DuckDuckBot', 'archive.org_bot'];
const UNAVAILABLE_AFTER = 'unavailable_after';

/** Fails where no bot is let in; where one is, that was meant so. */
export const isCrawlable: Audit = {
  id: 'is-crawlable',
  // With the other nine at 1 each it is 31 % of all.
  weight: 93 / 23,
  title: 'The page may be indexed',
  judge(page) {
    const rules = robotsRules(page.fetched.robots, BOTS);
    // Undefined stands for everybody.
    const blocked = [undefined, ...BOTS].map((bot) => blockedBy(page, rules, bot));
    return blocked.every((directives) => directives.length > 0) ? blocked[0]! : [];
  },
};

function blockedBy(page: Page, rules: RobotsRules | undefined, bot: string | undefined): Finding[] {
  return [...metaOf(page, bot), ...headersOf(page, bot), ...robotsOf(rules?.ruleFor(page.url, bot ?? '*'))];
}

function metaOf(page: Page, bot: string | undefined): Finding[] {
  const element = (bot && page.metaElement(bot.toLowerCase())) || page.metaElement('robots');
  if (!element || !blocks(attribute(element, 'content') ?? '')) return [];
  return [
    {
      element: snippet(element),
      reason: 'The element asks search engines to leave the page out.',
      fix: 'Remove noindex, none or the past date from the element.',
    },
  ];
}

function headersOf(page: Page, bot: string | undefined): Finding[] {
  return page.headers('x-robots-tag').flatMap((value) => {
    const named = /^([^,:]+):/.exec(value)?.[1];
    const agent = named?.toLowerCase() === UNAVAILABLE_AFTER ? undefined : named;
    if (agent !== undefined && agent !== bot) return [];
    if (!blocks(agent === undefined ? value : value.trim().slice(agent.length + 1))) return [];
    return [
      {
        element: cut(`X-Robots-Tag: ${value}`),
        reason: 'The header asks search engines to leave the page out.',
        fix: 'Send the page without noindex, none or the past date in this header.',
      },
    ];
  });
}

function robotsOf(rule: RobotsRule | undefined): Finding[] {
  if (!rule || rule.allow) return [];
  return [
    {
      element: cut(`robots.txt, line ${rule.line}: ${rule.text}`),
      reason: 'robots.txt forbids search engines to fetch the page.',
      fix: 'Allow the path of the page in robots.txt.',
    },
  ];
}

function blocks(directives: string): boolean {
  return directives
    .split(',')
    .map((directive) => directive.toLowerCase().trim())
    .some((directive) => directive === 'noindex' || directive === 'none' || isPast(directive));
}

function isPast(directive: string): boolean {
  const [name, ...rest] = directive.split(':');
  if (name !== UNAVAILABLE_AFTER || rest.length === 0) return false;
  const date = Date.parse(rest.join(':'));
  return !Number.isNaN(date) && date < Date.now();
}
