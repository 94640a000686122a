import { MAX_URL_LENGTH } from '../../../platform/network/url-length.js';
import { pageKey } from './page-key.js';

/** Of one scan; many may be forbidden or no pages. */
const MOST_SEEN = 1_000;

/** Which pages of a host are to be seen next; each once, by whatever address it goes. */
export class CrawlFrontier {
  private readonly waiting: URL[] = [];
  private readonly seen = new Set<string>();
  private readonly host: string;

  /** `first` is where the first page was found, `asked` where it was looked for. */
  constructor(first: URL, asked: URL) {
    this.host = first.host;
    for (const url of [first, asked]) this.seen.add(pageKey(url));
  }

  get hasMore(): boolean {
    return this.waiting.length > 0;
  }

  add(addresses: readonly string[]): void {
    for (const address of addresses) {
      if (this.seen.size >= MOST_SEEN) return;
      if (address.length > MAX_URL_LENGTH || !URL.canParse(address)) continue;
      const url = new URL(address);
      url.hash = '';
      const isPage = /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
      if (!isPage || url.host !== this.host) continue;
      const key = pageKey(url);
      if (this.seen.has(key)) continue;
      this.seen.add(key);
      this.waiting.push(url);
    }
  }

  next(): URL | undefined {
    return this.waiting.shift();
  }

  /** Whether a page that was fetched is none that was seen under the address it led to, or the one it calls its own. */
  isNew(url: URL, canonical: string | null, asked: URL): boolean {
    const own = [url.href, ...(canonical && URL.canParse(canonical) ? [canonical] : [])].map((href) => new URL(href));
    if (url.host !== this.host) return false;
    const others = new Set(own.map(pageKey).filter((key) => key !== pageKey(asked)));
    if ([...others].some((key) => this.seen.has(key))) {
      // A page whose own address is still to come is seen there.
      return false;
    }
    for (const key of others) this.seen.add(key);
    return true;
  }
}
