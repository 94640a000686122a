import { setImmediate as others, setTimeout as pause } from 'node:timers/promises';
import { WebError, type WebAnswer, type WebSession } from '../../../drivers/web/web.js';
import { MAX_URL_LENGTH } from '../../../platform/network/url-length.js';
import type { FetchedPage, RobotsFile } from '../audits/page.js';
import { MAX_ROBOTS_BYTES, robotsRules, type RobotsRules } from '../robots/robots-rules.js';
import type { ScanSlots } from '../scans/scan-slots.js';
import { NotHtml } from './not-html.js';

export const BOT = 'BerthBot';

const PAGE_MS = 20_000;
/** Of one page: as sent, and unpacked. What comes after is left. */
const MAX_BYTES = 2 * 1_048_576;
const MAX_DECODED_BYTES = 5 * 1_048_576;
/** Of all that is fetched for one scan, unpacked. */
const MAX_SCAN_BYTES = 32 * 1_048_576;
const LONGEST_DELAY_MS = 2_000;
const READABLE = /^(text\/(html|plain|xml)|application\/(xhtml\+xml|xml|[\w.]+\+xml))$/;
const HTML = /^(text\/html|application\/xhtml\+xml)$/;

export interface VisitLimits {
  /** Whether redirects may lead to other hosts. */
  staysOnHost: boolean;
  /** Until when all of it has to be done. */
  signal: AbortSignal;
}

/** One site, asked with manners: a few requests at a time, no more than robots.txt wants, within limits of time and bytes. */
export class SiteVisit {
  private robots: RobotsFile = { status: null, content: '' };
  private rules: RobotsRules | undefined;
  private bytes = 0;

  constructor(
    private readonly session: WebSession,
    private readonly slots: ScanSlots,
    private readonly limits: VisitLimits,
  ) {}

  /** Milliseconds that robots.txt wants between two pages. */
  get delayMs(): number {
    return Math.min(LONGEST_DELAY_MS, (this.rules?.delaySecondsOf(BOT) ?? 0) * 1000);
  }

  get sitemaps(): string[] {
    return this.rules?.sitemaps ?? [];
  }

  get isOver(): boolean {
    return this.limits.signal.aborted || this.bytes >= MAX_SCAN_BYTES;
  }

  /** The page that was asked for, whatever robots.txt says, and then robots.txt of the host it led to. */
  async begin(url: URL): Promise<FetchedPage> {
    const answer = await this.fetch(url, (to) => !this.limits.staysOnHost || to.hostname === url.hostname);
    mustBeHtml(answer);
    const site = new URL(answer.url);
    this.robots = await this.readRobots(site);
    this.rules = robotsRules(this.robots, [BOT]);
    return { ...answer, robots: this.robots };
  }

  /** Another page of the site; null when it is no page, leads away or may not be asked for. */
  async page(url: URL): Promise<FetchedPage | null> {
    if (!(await this.mayAsk(url))) return null;
    if (this.delayMs > 0) await pause(this.delayMs, undefined, { signal: this.limits.signal });
    const answer = await this.fetch(url, (to) => to.host === url.host);
    return isHtml(answer) ? { ...answer, robots: this.robots } : null;
  }

  /** A file of the site as text; null when it is not to be had. */
  async file(url: URL): Promise<(WebAnswer & { text: string }) | null> {
    if (!(await this.mayAsk(url))) return null;
    const answer = await this.fetch(url, (to) => to.host === url.host);
    return { ...answer, text: answer.body.toString('utf8') };
  }

  /** What an address of the site answers, without its content; null when that is not to be known. */
  async status(url: URL): Promise<number | null> {
    if (!(await this.mayAsk(url))) return null;
    const answer = await this.fetch(url, (to) => to.host === url.host, 'HEAD');
    if (![403, 405, 501].includes(answer.status)) return answer.status;
    return (await this.fetch(url, (to) => to.host === url.host)).status;
  }

  /** Others have their turn before each: many addresses may be forbidden one after another. */
  private async mayAsk(url: URL): Promise<boolean> {
    await others();
    return !this.isOver && url.href.length <= MAX_URL_LENGTH && this.rules?.isAllowed(url, BOT) !== false;
  }

  private async readRobots(site: URL): Promise<RobotsFile> {
    try {
      const { status, body } = await this.fetch(new URL('/robots.txt', site), (to) => to.hostname === site.hostname);
      return { status, content: status < 400 ? body.toString('utf8', 0, MAX_ROBOTS_BYTES) : '' };
    } catch (error) {
      if (error instanceof WebError) return { status: null, content: '' };
      throw error;
    }
  }

  private async fetch(url: URL, follows: (to: URL) => boolean, method: 'GET' | 'HEAD' = 'GET'): Promise<WebAnswer> {
    const answer = await this.slots.asking(url.host, this.limits.signal, () =>
      this.session.fetch(url, {
        method,
        maxBytes: MAX_BYTES,
        maxDecodedBytes: Math.min(MAX_DECODED_BYTES, Math.max(1, MAX_SCAN_BYTES - this.bytes)),
        wants: (mediaType) => mediaType === '' || READABLE.test(mediaType),
        follows,
        signal: AbortSignal.any([this.limits.signal, AbortSignal.timeout(PAGE_MS)]),
      }),
    );
    this.bytes += answer.body.length;
    return answer;
  }
}

function isHtml({ headers, body }: WebAnswer): boolean {
  const type = headers.find(([name]) => name === 'content-type')?.[1];
  if (type !== undefined) return HTML.test(type.split(';')[0]!.trim().toLowerCase());
  return /<(!doctype html|html|head|body|title|h1|p|a|div)\b/i.test(body.toString('latin1', 0, 1024));
}

/** One that fails, or leads elsewhere, is judged as what it is; of one that succeeds there has to be something to judge. */
function mustBeHtml(answer: WebAnswer): void {
  if (answer.status < 300 && !isHtml(answer)) throw new NotHtml();
}
