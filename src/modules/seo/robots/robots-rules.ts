import type { RobotsFile } from '../audits/page.js';
import { robotsLines } from './robots-lines.js';
import { normalised, RobotsPattern } from './robots-pattern.js';

/** What is read of a robots.txt: the least that RFC 9309 asks for. */
export const MAX_ROBOTS_BYTES = 500 * 1024;
/** Rules that are kept, and of those the ones with wildcards, which take longer. Files that people write have a tenth of it. */
export const MOST_RULES = 10_000;
export const MOST_WILDCARD_RULES = 200;
const MOST_SITEMAPS = 100;

export interface RobotsRule {
  allow: boolean;
  /** Counted from 1. */
  line: number;
  text: string;
  pattern: RobotsPattern;
}

interface Group {
  rules: RobotsRule[];
  delaySeconds: number;
}

/** A robots.txt by RFC 9309, as far as it concerns the agents that are asked after. */
export class RobotsRules {
  readonly sitemaps: string[] = [];
  private readonly groups = new Map<string, Group>();
  private rules = 0;
  private wildcardRules = 0;

  constructor(content: string, agents: readonly string[]) {
    const asked = new Set(['*', ...agents.map((agent) => agent.toLowerCase())]);
    let named = new Set<string>();
    let isHeadOver = true;
    for (const { number: line, text, field } of robotsLines(content)) {
      if (!field) continue;
      const { name, value } = field;
      if (name === 'sitemap' && this.sitemaps.length < MOST_SITEMAPS) this.sitemaps.push(value);
      if (name === 'user-agent') {
        if (isHeadOver) named = new Set();
        isHeadOver = false;
        const agent = value.split('/')[0]!.trim().toLowerCase();
        if (asked.has(agent)) named.add(agent);
      }
      // What else there is belongs to no group, and ends none.
      if (name !== 'allow' && name !== 'disallow' && name !== 'crawl-delay') continue;
      isHeadOver = true;
      if (named.size === 0) continue;
      const groups = [...named].map((agent) => this.groupOf(agent));
      if (name === 'crawl-delay') for (const group of groups) group.delaySeconds = Number(value) || 0;
      else if (value !== '') this.add(groups, value, { allow: name === 'allow', line, text });
    }
  }

  /** The rule that decides on an address of the site: the most specific one, of two like that the one that allows. */
  ruleFor({ pathname, search }: URL, agent: string): RobotsRule | undefined {
    const path = normalised(pathname + search);
    let best: RobotsRule | undefined;
    for (const rule of this.groupFor(agent)?.rules ?? []) {
      const more = rule.pattern.length - (best?.pattern.length ?? -1);
      if ((more > 0 || (more === 0 && rule.allow && !best!.allow)) && rule.pattern.matches(path)) best = rule;
    }
    return best;
  }

  isAllowed(url: URL, agent: string): boolean {
    return this.ruleFor(url, agent)?.allow ?? true;
  }

  /** Between two requests. */
  delaySecondsOf(agent: string): number {
    return this.groupFor(agent)?.delaySeconds ?? 0;
  }

  /** All agents of a group share its rules; groups of one agent are one. */
  private add(groups: readonly Group[], value: string, rule: Omit<RobotsRule, 'pattern'>): void {
    const hasWildcards = value.includes('*');
    if (this.rules >= MOST_RULES || (hasWildcards && this.wildcardRules >= MOST_WILDCARD_RULES)) return;
    const pattern = RobotsPattern.parse(value, rule.allow);
    if (!pattern) return;
    this.rules++;
    if (hasWildcards) this.wildcardRules++;
    const whole = { ...rule, pattern };
    for (const { rules } of groups) rules.push(whole);
  }

  private groupOf(agent: string): Group {
    let group = this.groups.get(agent);
    if (!group) this.groups.set(agent, (group = { rules: [], delaySeconds: 0 }));
    return group;
  }

  private groupFor(agent: string): Group | undefined {
    return this.groups.get(agent.toLowerCase()) ?? this.groups.get('*');
  }
}

/** The rules of a site for these agents; undefined where there are none. */
export function robotsRules({ status, content }: RobotsFile, agents: readonly string[]): RobotsRules | undefined {
  if (status === null || status >= 400 || content === '') return undefined;
  return new RobotsRules(content, agents);
}
