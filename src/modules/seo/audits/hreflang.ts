import languages from 'language-subtag-registry/data/json/language.json' with { type: 'json' };
import { MOST_FINDINGS, type Audit } from './audit.js';
import { cut, snippet } from './html.js';
import type { LinkElement } from './page.js';

const LANGUAGES: ReadonlySet<string> = new Set(Object.keys(languages));

export const hreflang: Audit = {
  id: 'hreflang',
  weight: 1,
  title: 'Versions in other languages are named rightly',
  judge(page) {
    const links = page.links.filter(
      ({ rel, hreflang, source }) => rel === 'alternate' && hreflang && source !== 'body',
    );
    return links
      .flatMap((link) => {
        const element = link.element ? snippet(link.element) : headerOf(link);
        const faults = [
          ...(isLanguage(link.hreflang)
            ? []
            : [['The language code is none.', 'Use a code such as en, en-GB or x-default.'] as const]),
          ...(/^https?:/i.test(link.raw)
            ? []
            : [['The address is not given in full.', 'Give the address with its scheme and host.'] as const]),
        ];
        return faults.map(([reason, fix]) => ({ element, reason, fix }));
      })
      .slice(0, MOST_FINDINGS);
  },
};

function isLanguage(code: string): boolean {
  const lower = code.toLowerCase();
  return lower === 'x-default' || LANGUAGES.has(lower.split('-')[0]!);
}

function headerOf({ raw, hreflang: code }: LinkElement): string {
  return cut(`Link: <${raw}>; rel="alternate"; hreflang="${code}"`);
}
