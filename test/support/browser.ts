interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** As much of a browser as logins need: it keeps cookies by host, and follows redirects only when told to. */
export class Browser {
  private readonly jars = new Map<string, Map<string, string>>();
  /** The last answer's cookies as they were set, attributes included. */
  lastSetCookies: string[] = [];

  constructor(private readonly always: Record<string, string> = {}) {}

  async send(url: string, { method = 'GET', headers = {}, body }: Sent = {}): Promise<Response> {
    const jar = this.jar(url);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, {
      method,
      headers: { ...this.always, ...(cookie ? { cookie } : {}), ...headers },
      redirect: 'manual',
      ...(body === undefined ? {} : { body }),
    });
    this.lastSetCookies = response.headers.getSetCookie();
    for (const line of this.lastSetCookies) keep(jar, line);
    return response;
  }

  /** Goes on until an answer is no redirect, or leads to an address that `stop` holds for. */
  async follow(
    url: string,
    stop: (url: string) => boolean = () => false,
  ): Promise<{ url: string; response: Response }> {
    let at = url;
    for (let hops = 0; hops < 15; hops++) {
      if (stop(at)) break;
      const response = await this.send(at);
      const location = response.headers.get('location');
      if (response.status < 300 || response.status > 399 || location === null) return { url: at, response };
      await response.body?.cancel();
      at = new URL(location, at).href;
    }
    return { url: at, response: new Response(null) };
  }

  cookie(url: string, name: string): string | undefined {
    return this.jar(url).get(name);
  }

  setCookie(url: string, name: string, value: string): void {
    this.jar(url).set(name, value);
  }

  private jar(url: string): Map<string, string> {
    const { hostname } = new URL(url);
    let jar = this.jars.get(hostname);
    if (!jar) this.jars.set(hostname, (jar = new Map()));
    return jar;
  }
}

function keep(jar: Map<string, string>, line: string): void {
  const [pair = '', ...attributes] = line.split('; ');
  const split = pair.indexOf('=');
  const name = pair.slice(0, split);
  const expires = attributes.find((attribute) => /^expires=/i.test(attribute))?.slice(8);
  const gone = attributes.some((attribute) => /^max-age=0$/i.test(attribute));
  if (gone || (expires !== undefined && Date.parse(expires) <= Date.now())) jar.delete(name);
  else jar.set(name, pair.slice(split + 1));
}
