export interface RequestTarget {
  /** The path and the query, as they were sent; the path may be anything where there is no authority. */
  url: string;
  /** Host and port, where the target names them; they count instead of the `Host` field then. */
  authority: string | undefined;
}

/** What a request line asks for: servers take the absolute form, which clients send to proxies (RFC 9112, section 3.2.2). */
export function requestTarget(url: string): RequestTarget {
  if (url.startsWith('/')) return { url, authority: undefined };
  const [whole = '', authority] = /^https?:\/\/([^/?#]*)/i.exec(url) ?? [];
  if (authority === undefined) return { url, authority };
  const rest = url.slice(whole.length);
  return { url: rest.startsWith('/') ? rest : `/${rest}`, authority };
}
