import type { IncomingMessage } from 'node:http';

/** Why a request is refused whoever sent it; `reason` stands in the read log of the service. */
export interface RequestRefusal {
  status: 400 | 403 | 405;
  reason: 'forwarded' | 'browser' | 'host' | 'method' | 'target';
  detail: string;
}

/** Headers of something that speaks for somebody else: a proxy, or a page in a browser. They are refused, never interpreted. */
const FORWARDED = new Set(['forwarded', 'via', 'x-real-ip']);
const FORWARDED_PREFIX = 'x-forwarded-';
/** Browsers send it with each request of a page. Not `Sec-Fetch-Mode`: programs' own `fetch` sends that too. */
const BROWSER = new Set(['origin', 'sec-fetch-site']);

/** Where the broker listens: requests must name it by its number, so that no name can be made to lead here. */
export interface BrokerAddress {
  gateway: string;
  port: number;
}

/** What is wrong with a request, from its first line and its headers alone; null when it may be answered. */
export function refusalOf(request: IncomingMessage, { gateway, port }: BrokerAddress): RequestRefusal | null {
  const { method, url = '', rawHeaders } = request;
  let host: string | undefined;
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase();
    if (name === 'host') {
      host = rawHeaders[index + 1];
      hosts++;
    } else if (FORWARDED.has(name) || name.startsWith(FORWARDED_PREFIX)) {
      return { status: 403, reason: 'forwarded', detail: 'Requests that were passed on are not answered.' };
    } else if (BROWSER.has(name)) {
      return { status: 403, reason: 'browser', detail: 'Requests of web pages are not answered.' };
    }
  }
  if (hosts !== 1 || (host !== gateway && host !== `${gateway}:${port}`)) {
    return { status: 403, reason: 'host', detail: "The Host header must be the gateway's address." };
  }
  if (method !== 'GET' && method !== 'HEAD') {
    return { status: 405, reason: 'method', detail: 'Secrets are read by GET and in no other way.' };
  }
  // A whole URL is what proxies are sent.
  if (!url.startsWith('/')) return { status: 400, reason: 'target', detail: 'The request target must be a path.' };
  return null;
}
