import {
  ServerResponse,
  validateHeaderValue,
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
} from 'node:http';

type Value = number | string | readonly string[];

/**
 * An answer that lists its headers until it begins. Node would gather them in a dictionary and take them out of it again in
 * order, which for some twenty of them is a good part of all that a small answer costs. A server is made with it by the
 * option `ServerResponse`.
 */
export class ListedHeadersResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** A name, its value, the next name, its value. */
  private readonly listed: OutgoingHttpHeader[] = [];

  override setHeader(name: string, value: Value): this {
    // Noticed only when the answer begins, it would stand in the way of the one that tells of it as well.
    validateHeaderValue(name, value as string);
    const at = this.placeOf(name);
    if (at === -1) this.listed.push(name, value as OutgoingHttpHeader);
    else this.listed[at + 1] = value as OutgoingHttpHeader;
    return this;
  }

  override getHeader(name: string): OutgoingHttpHeader | undefined {
    const at = this.placeOf(name);
    return at === -1 ? undefined : this.listed[at + 1];
  }

  override hasHeader(name: string): boolean {
    return this.placeOf(name) !== -1;
  }

  override removeHeader(name: string): void {
    const at = this.placeOf(name);
    if (at !== -1) this.listed.splice(at, 2);
  }

  override writeHead(status: number, headers?: unknown): this {
    const added = headers as OutgoingHttpHeaders | undefined;
    for (const name in added) this.setHeader(name, added[name] as Value);
    return super.writeHead(status, this.listed);
  }

  private placeOf(name: string): number {
    const { listed } = this;
    for (let at = 0; at < listed.length; at += 2) if (isSame(listed[at] as string, name)) return at;
    return -1;
  }
}

function isSame(a: string, b: string): boolean {
  return a === b || (a.length === b.length && a.toLowerCase() === b.toLowerCase());
}
