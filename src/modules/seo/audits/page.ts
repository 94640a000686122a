import { MAX_URL_LENGTH } from '../../../platform/network/url-length.js';
import { attribute, Html, type Element } from './html.js';
import { decodeHtml } from './charset.js';

/** robots.txt as it was had: null without a status when nothing came. */
export interface RobotsFile {
  status: number | null;
  content: string;
}

/** A page as it came, together with what is judged beside it; plain data that goes from thread to thread. */
export interface FetchedPage {
  url: string;
  status: number;
  /** Names in lower case. */
  headers: [name: string, value: string][];
  /** Decoded. */
  body: Uint8Array;
  /** As they were sent. */
  bytes: number;
  /** Whether there was more of it. */
  truncated: boolean;
  firstByteMs: number;
  ms: number;
  /** The redirects that led there. */
  hops: { url: string; status: number }[];
  robots: RobotsFile;
}

export interface LinkElement {
  /** In lower case. */
  rel: string;
  /** Null when it leads nowhere. */
  href: string | null;
  raw: string;
  hreflang: string;
  source: 'head' | 'body' | 'header';
  element: Element | null;
}

/** A page, read. Everything is found when it is first asked for. */
export class Page {
  readonly html: Html;
  readonly url: URL;
  readonly base: string;
  readonly links: LinkElement[];

  constructor(readonly fetched: FetchedPage) {
    this.url = new URL(fetched.url);
    this.html = new Html(decodeHtml(fetched.body, this.header('content-type')));
    const base = this.html.all('base').find((element) => attribute(element, 'href') !== undefined);
    const named = this.resolve(base ? attribute(base, 'href')! : '', this.url.href) ?? this.url.href;
    // It becomes part of every relative address.
    this.base = named.length <= MAX_URL_LENGTH ? named : this.url.href;
    this.links = [...this.linkElements(), ...this.linkHeaders()];
  }

  header(name: string): string | undefined {
    return this.fetched.headers.find(([other]) => other === name)?.[1];
  }

  /** All values of a header that was sent several times. */
  headers(name: string): string[] {
    return this.fetched.headers.flatMap(([other, value]) => (other === name ? [value] : []));
  }

  /** The address that the text of an attribute stands for; null when it stands for none. */
  resolve(href: string, base = this.base): string | null {
    return URL.parse(href, base)?.href ?? null;
  }

  /** The `content` of the first meta element of that name in the head. */
  meta(name: string): string | undefined {
    const found = this.metaElement(name);
    return found && (attribute(found, 'content') ?? '');
  }

  metaElement(name: string): Element | undefined {
    return this.html
      .all('meta')
      .find((element) => element.inHead && attribute(element, 'name')?.toLowerCase() === name);
  }

  private linkElements(): LinkElement[] {
    return this.html
      .all('link')
      .filter(({ isSvg }) => !isSvg)
      .map((element) => {
        const raw = attribute(element, 'href') ?? '';
        return {
          rel: (attribute(element, 'rel') ?? '').toLowerCase(),
          href: raw === '' ? null : this.resolve(raw),
          raw,
          hreflang: attribute(element, 'hreflang') ?? '',
          source: element.inHead ? 'head' : 'body',
          element,
        };
      });
  }

  private linkHeaders(): LinkElement[] {
    return this.headers('link').flatMap((value) =>
      [...value.matchAll(/<([^<>]*)>((?:\s*;\s*[\w!#$&+.^`|~*-]+(?:\s*=\s*(?:"[^"]*"|[^\s;,"]+))?)*)/g)].map(
        ([, uri = '', parameters = '']): LinkElement => {
          const parameter = (name: string): string =>
            new RegExp(`;\\s*${name}\\s*=\\s*(?:"([^"]*)"|([^\\s;,"]+))`, 'i')
              .exec(parameters)
              ?.slice(1)
              .find((found) => found !== undefined) ?? '';
          return {
            rel: parameter('rel').toLowerCase(),
            href: this.resolve(uri, this.url.href),
            raw: uri,
            hreflang: parameter('hreflang'),
            source: 'header',
            element: null,
          };
        },
      ),
    );
  }
}
