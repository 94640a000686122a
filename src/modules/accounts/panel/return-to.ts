const FALLBACK = '/panel';
const BASE = 'http://panel.invalid';
const MAX_LENGTH = 2000;

/** Where a login may lead: a path of this host, or the panel's front page for anything that could lead elsewhere. */
export function localPath(wanted: unknown): string {
  if (typeof wanted !== 'string' || wanted.length > MAX_LENGTH) return FALLBACK;
  if (!wanted.startsWith('/') || wanted.includes('\\') || /[\p{C}\s]/u.test(wanted)) return FALLBACK;
  if (!URL.canParse(wanted, BASE)) return FALLBACK;
  const url = new URL(wanted, BASE);
  const path = `${url.pathname}${url.search}${url.hash}`;
  // Dot segments may leave two slashes at the start, which browsers read as a host.
  if (url.origin !== BASE || path.startsWith('//')) return FALLBACK;
  return url.pathname.startsWith('/panel/api/auth/') ? FALLBACK : path;
}
