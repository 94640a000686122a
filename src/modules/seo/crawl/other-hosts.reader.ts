import pLimit from 'p-limit';
import { WebError, type WebAnswer, type WebSession } from '../../../drivers/web/web.js';
import { cut } from '../audits/html.js';
import { MAX_ROBOTS_BYTES, robotsRules, type RobotsRules } from '../robots/robots-rules.js';
import type { ScanSlots } from '../scans/scan-slots.js';
import { BOT } from './site-visit.reader.js';

/** Addresses that are looked after in one scan, and on one host: a scan is no tool to ask others many things with. */
const MOST = 20;
const MOST_OF_A_HOST = 3;
const AT_ONCE = 4;
const EACH_MS = 5_000;
const ALL_MS = 15_000;

/** What says of a page that it is not there. Others mean bots, or nothing for long: 401, 403, 429, 503 and their like. */
const isBroken = (status: number): boolean =>
  status === 404 || status === 410 || (status >= 500 && status !== 503 && status < 600);

/**
 * Other hosts that a site names: whether what it names there answers. Nothing there is read but robots.txt, which is kept to;
 * none of their links is followed.
 */
export class OtherHosts {
  private readonly rules = new Map<string, Promise<RobotsRules | undefined>>();
  private signal = AbortSignal.abort();

  constructor(
    private readonly session: WebSession,
    private readonly slots: ScanSlots,
    private readonly scan: AbortSignal,
  ) {}

  /** By address, what is wrong there, in a sentence. What cannot be told is not wrong. */
  async faultsOf(urls: readonly URL[]): Promise<Map<string, string>> {
    this.signal = AbortSignal.any([this.scan, AbortSignal.timeout(ALL_MS)]);
    const limit = pLimit(AT_ONCE);
    const asked = await Promise.all(
      chosenOf(urls).map(async (url) => [url.href, await limit(() => this.faultOf(url))] as const),
    );
    return new Map(asked.flatMap(([href, fault]) => (fault === undefined ? [] : [[href, fault]])));
  }

  private async faultOf(url: URL): Promise<string | undefined> {
    const name = cut(url.href, 250);
    try {
      if ((await this.rulesOf(url))?.isAllowed(url, BOT) === false) return undefined;
      let { status } = await this.fetch(url, 'HEAD');
      // Many a server knows nothing but GET.
      if (status >= 400) ({ status } = await this.fetch(url, 'GET'));
      return isBroken(status) ? `${name} answers with status ${status}.` : undefined;
    } catch (error) {
      if (error instanceof WebError) return faultIn(error, name);
      throw error;
    }
  }

  private rulesOf(url: URL): Promise<RobotsRules | undefined> {
    let rules = this.rules.get(url.origin);
    if (!rules) this.rules.set(url.origin, (rules = this.readRules(url)));
    return rules;
  }

  private async readRules(url: URL): Promise<RobotsRules | undefined> {
    try {
      const { status, body } = await this.fetch(new URL('/robots.txt', url), 'GET', MAX_ROBOTS_BYTES);
      return robotsRules({ status, content: body.toString('utf8') }, [BOT]);
    } catch (error) {
      if (error instanceof WebError) return undefined;
      throw error;
    }
  }

  private fetch(url: URL, method: 'GET' | 'HEAD', maxBytes = 0): Promise<WebAnswer> {
    return this.slots.asking(url.host, this.signal, () =>
      this.session.fetch(url, {
        ...{ method, maxBytes, maxDecodedBytes: maxBytes },
        wants: () => maxBytes > 0,
        follows: () => true,
        signal: AbortSignal.any([this.signal, AbortSignal.timeout(EACH_MS)]),
      }),
    );
  }
}

/** Each once, and few of each host. */
function chosenOf(urls: readonly URL[]): URL[] {
  const perHost = new Map<string, number>();
  const chosen = new Map<string, URL>();
  for (const url of urls) {
    const others = perHost.get(url.host) ?? 0;
    if (chosen.size >= MOST || others >= MOST_OF_A_HOST || chosen.has(url.href)) continue;
    perHost.set(url.host, others + 1);
    chosen.set(url.href, url);
  }
  return [...chosen.values()];
}

/** Nothing of it tells what stands at an address that is refused. */
function faultIn({ code, cause }: WebError, name: string): string | undefined {
  if (code === 'address_refused') return `${name} leads to no address of the public internet.`;
  // With a cause it is the name server that failed.
  if (code === 'dns_failed') return cause === undefined ? `${name} is on a host that does not exist.` : undefined;
  if (code === 'connect_failed' || code === 'tls_error') return `${name} takes no connection.`;
  if (code === 'address_too_long') return `${name} leads to an address that is too long.`;
  return code === 'too_many_redirects' ? `${name} leads from redirect to redirect.` : undefined;
}
