import { encodeManifest, type SiteFile } from '../archive/manifest.js';
import type { RedirectRule } from '../archive/redirect-rules.js';
import { loadManifest, type LoadedManifest } from './loaded-manifest.js';
import { resolve, type Asked } from './resolve.js';

const FILE: SiteFile = { at: 0, bytes: 1, hash: '00' };

/** Counts what is looked up. */
class CountedFiles extends Map<string, SiteFile> {
  lookUps = 0;
  characters = 0;

  override get(name: string): SiteFile | undefined {
    this.count(name);
    return super.get(name);
  }

  override has(name: string): boolean {
    this.count(name);
    return super.has(name);
  }

  private count({ length }: string): void {
    this.lookUps++;
    this.characters += length;
  }
}

/** As rules may stand in manifests, whatever is taken now. */
const rules = (count: number, to: string, status: number): RedirectRule[] =>
  Array.from({ length: count }, () => ({ from: '/*', to, status, force: false }));

function site(names: string[], redirects: RedirectRule[] = []): LoadedManifest & { files: CountedFiles } {
  const files = new CountedFiles();
  for (const name of names) files.set(name, FILE);
  return { ...loadManifest(encodeManifest({ files: {}, redirects, headers: [] })), files };
}

const asked = (path: string, more: Partial<Asked> = {}): Asked => ({
  path,
  query: '',
  wantsPage: true,
  spa: false,
  ...more,
});

test.each(['/', 'a/'])('a 404.html is looked for no deeper than one may be: %s', (folder) => {
  const shown = site(['404.html']);
  const path = `/${folder.repeat(15_000 / folder.length)}x`;
  expect(resolve(shown, asked(path))).toMatchObject({ name: '404.html', status: 404 });
  expect(shown.files.lookUps).toBeLessThan(40);
  expect(shown.files.characters).toBeLessThan(60_000);
});

test('the deepest 404.html that an archive may hold is found', () => {
  const folders = 'd/'.repeat(31);
  const shown = site(['404.html', `${folders}404.html`, `${'e'.repeat(250)}/${'f'.repeat(250)}/404.html`]);
  expect(resolve(shown, asked(`/${folders}x/y`))).toMatchObject({ name: `${folders}404.html` });
  expect(resolve(shown, asked(`/${folders}`))).toMatchObject({ name: `${folders}404.html` });
  const long = `${'e'.repeat(250)}/${'f'.repeat(250)}/`;
  expect(resolve(shown, asked(`/${long}${'g'.repeat(250)}`))).toMatchObject({ name: `${long}404.html` });
  expect(resolve(shown, asked('/d/d'))).toMatchObject({ name: '404.html' });
});

test('a rewrite to what is longer than any path of a site is not looked up', () => {
  const shown = site(['index.html'], rules(250, `/${':splat'.repeat(160)}`, 200));
  expect(resolve(shown, asked(`/${'a'.repeat(15_000)}`))).toEqual({ kind: 'none' });
  expect(shown.files.lookUps).toBeLessThan(10);
});

test('a rewrite finds what was captured as it stands in the path', () => {
  const shown = site(
    ['a/q?x.html', 'a/%41', 'ü/b c'],
    [
      { from: '/r/*', to: '/a/:splat?y=1', status: 200, force: false },
      { from: '/s/*', to: '/%C3%BC/:splat', status: 200, force: false },
    ],
  );
  expect(resolve(shown, asked('/r/q?x'))).toMatchObject({ name: 'a/q?x.html', status: 200 });
  expect(resolve(shown, asked('/r/%41'))).toMatchObject({ name: 'a/%41', status: 200 });
  expect(resolve(shown, asked('/s/b c'))).toMatchObject({ name: 'ü/b c', status: 200 });
});

test('nothing is redirected to what no request can ask for', () => {
  const many = site([], rules(1, `/x${':splat'.repeat(160)}`, 302));
  expect(resolve(many, asked(`/${'a'.repeat(15_000)}`))).toEqual({ kind: 'too_long' });
  expect(resolve(many, asked('/abc'))).toEqual({ kind: 'redirect', to: `/x${'abc'.repeat(160)}`, status: 302 });
  const encoded = site([], rules(1, '/x/:splat', 302));
  expect(resolve(encoded, asked(`/${'%'.repeat(5400)}`))).toMatchObject({ kind: 'redirect' });
  expect(resolve(encoded, asked(`/${'%'.repeat(5500)}`))).toEqual({ kind: 'too_long' });
  const query = `?${'\u00e9'.repeat(3000)}`;
  expect(resolve(encoded, asked('/a', { query }))).toEqual({ kind: 'too_long' });
  expect(resolve(site(['a.html']), asked('/a.html', { query }))).toEqual({ kind: 'too_long' });
});

test('an answer says whether it depends on what is accepted', () => {
  const shown = site(['index.html', 'about.html', '404.html']);
  const byAccept = (path: string, more: Partial<Asked>) => resolve(shown, asked(path, more));
  expect(byAccept('/any', { spa: true })).toMatchObject({ name: 'index.html', byAccept: true });
  expect(byAccept('/any', { spa: true, wantsPage: false })).toMatchObject({ name: '404.html', byAccept: true });
  expect(byAccept('/any.js', { spa: true })).toMatchObject({ name: '404.html', byAccept: false });
  expect(byAccept('/about', { spa: true })).toMatchObject({ name: 'about.html', byAccept: false });
  expect(byAccept('/any', {})).toMatchObject({ name: '404.html', byAccept: false });
});
