import { setImmediate as others } from 'node:timers/promises';
import sax from 'sax';
import { MAX_URL_LENGTH } from '../../../platform/network/url-length.js';

export interface Sitemap {
  kind: 'urlset' | 'sitemapindex' | 'none';
  /** The addresses in it, as they stand there. */
  entries: string[];
  /** What is wrong with it, in a sentence. */
  faults: string[];
}

const MOST_ENTRIES = 50_000;

/**
 * Reads a sitemap without making a tree of it, letting others have their turn; entities are not expanded but for the five that
 * XML has.
 */
export async function readSitemap(text: string, truncated: boolean): Promise<Sitemap> {
  const sitemap: Sitemap = { kind: 'none', entries: [], faults: [] };
  const parser = sax.parser(true, { strictEntities: true } as sax.SAXOptions);
  let [broken, inLoc, loc] = [false, false, ''];
  parser.onopentag = ({ name }) => {
    const local = name.split(':').at(-1);
    if (sitemap.kind === 'none' && (local === 'urlset' || local === 'sitemapindex')) sitemap.kind = local;
    inLoc = local === 'loc' && name === local;
    loc = '';
  };
  parser.ontext = parser.oncdata = (part) => {
    if (inLoc && loc.length <= MAX_URL_LENGTH) loc += part;
  };
  parser.onclosetag = (name) => {
    if (name === 'loc') sitemap.entries.push(loc.trim().slice(0, MAX_URL_LENGTH + 1));
    inLoc = false;
  };
  parser.onerror = () => {
    broken = true;
    parser.error = null as never;
  };
  for (let at = 0; at < text.length && !broken && sitemap.entries.length <= MOST_ENTRIES; at += 65_536) {
    parser.write(text.slice(at, at + 65_536));
    await others();
  }
  if (!broken && !truncated && sitemap.entries.length <= MOST_ENTRIES) parser.close();
  if (broken) sitemap.faults.push('The sitemap is no well-formed XML.');
  else if (sitemap.kind === 'none') sitemap.faults.push('The file is no sitemap.');
  if (sitemap.entries.length > MOST_ENTRIES)
    sitemap.faults.push(`The sitemap has more than ${MOST_ENTRIES} addresses.`);
  const bad = sitemap.entries.find((entry) => !URL.canParse(entry));
  if (bad !== undefined) sitemap.faults.push('The sitemap has an entry that is no full address.');
  if (sitemap.entries.some((entry) => entry.length > MAX_URL_LENGTH))
    sitemap.faults.push(`The sitemap has an entry of more than ${MAX_URL_LENGTH} characters.`);
  return sitemap;
}
