/**
 * By what two addresses of a site are one page: neither fragment, scheme, a slash at the end nor the order of parameters tells
 * pages apart.
 */
export function pageKey(url: URL): string {
  // `searchParams` takes the square of the number of parameters.
  const parameters = url.search.slice(1).split('&').sort();
  return `${url.host}${url.pathname.replace(/(?<!\/)\/+$/, '')}?${parameters.join('&')}`;
}
