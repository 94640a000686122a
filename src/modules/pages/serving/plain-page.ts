import type { SiteAnswer } from './site-answer.reader.js';

const SAYS: Record<number, string> = {
  400: 'This request is malformed.',
  404: 'There is nothing at this address.',
  429: 'You have too many downloads under way at once.',
  500: 'This address cannot be shown.',
  503: 'This site cannot be shown at the moment.',
};

/** What the platform itself has to say to readers, the same whatever is behind it. */
export function plainPage(status: 400 | 404 | 429 | 500 | 503): SiteAnswer {
  const says = SAYS[status]!;
  const body = Buffer.from(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>${status}</title><p>${says}</p></html>\n`,
  );
  const headers = [
    'Content-Type',
    'text/html; charset=utf-8',
    'Content-Length',
    String(body.length),
    'Cache-Control',
    'no-store',
    'X-Content-Type-Options',
    'nosniff',
    'Content-Security-Policy',
    "default-src 'none'",
  ];
  if (status === 429) headers.push('Retry-After', '10');
  if (status === 503) headers.push('Retry-After', '5');
  if (status === 400) headers.push('Connection', 'close');
  return { status, headers, body };
}
