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
/** The parser keeps every element that is open, with its attributes; a sitemap has three levels and a few attributes. */
const DEEPEST = 16;
const MOST_ATTRIBUTES = 64;

/**
 * Reads a sitemap without making a tree of it, letting others have their turn; entities are not expanded but for the five that
 * XML has.
 */
export async function readSitemap(text: string, truncated: boolean): Promise<Sitemap> {
  const sitemap: Sitemap = { kind: 'none', entries: [], faults: [] };
  const parser = sax.parser(true, { strictEntities: true } as sax.SAXOptions);
  const { faults } = sitemap;
  /** Nothing more is read then. */
  const broken = (fault: string): void => {
    if (faults.length === 0) faults.push(fault);
  };
  let [depth, attributes, inLoc, loc] = [0, 0, false, ''];
  parser.onattribute = () => {
    if (++attributes > MOST_ATTRIBUTES) broken('The sitemap has an element of too many attributes.');
  };
  parser.onopentag = ({ name }) => {
    attributes = 0;
    if (++depth > DEEPEST) broken('The sitemap has too many elements within each other.');
    const local = name.split(':').at(-1);
    if (sitemap.kind === 'none' && (local === 'urlset' || local === 'sitemapindex')) sitemap.kind = local;
    inLoc = local === 'loc' && name === local;
    loc = '';
  };
  parser.ontext = parser.oncdata = (part) => {
    if (inLoc && loc.length <= MAX_URL_LENGTH) loc += part;
  };
  parser.onclosetag = (name) => {
    depth--;
    if (name === 'loc') sitemap.entries.push(loc.trim().slice(0, MAX_URL_LENGTH + 1));
    inLoc = false;
  };
  parser.onerror = () => {
    broken('The sitemap is no well-formed XML.');
    parser.error = null as never;
  };
  for (let at = 0; at < text.length && faults.length === 0 && sitemap.entries.length <= MOST_ENTRIES; at += 65_536) {
    parser.write(text.slice(at, at + 65_536));
    await others();
  }
  if (faults.length === 0 && !truncated && sitemap.entries.length <= MOST_ENTRIES) parser.close();
  if (faults.length === 0 && sitemap.kind === 'none') faults.push('The file is no sitemap.');
  if (sitemap.entries.length > MOST_ENTRIES) faults.push(`The sitemap has more than ${MOST_ENTRIES} addresses.`);
  const bad = sitemap.entries.find((entry) => !URL.canParse(entry));
  if (bad !== undefined) faults.push('The sitemap has an entry that is no full address.');
  if (sitemap.entries.some((entry) => entry.length > MAX_URL_LENGTH))
    faults.push(`The sitemap has an entry of more than ${MAX_URL_LENGTH} characters.`);
  return sitemap;
}
