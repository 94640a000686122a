/**
 * By what two addresses of a site are one page: neither fragment, scheme, a slash at the end nor the order of parameters tells
 * pages apart.
 */
export function pageKey(url: URL): string {
  const parameters = [...url.searchParams].map(([name, value]) => `${name}=${value}`).sort();
  return `${url.host}${url.pathname.replace(/(?<!\/)\/+$/, '')}?${parameters.join('&')}`;
}
