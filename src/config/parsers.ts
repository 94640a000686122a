import { isIP } from 'node:net';

/** Turns the text of one setting into its value; throws an Error that says what is wanted, never what was given. */
export type Parser<T> = (text: string) => T;

export const text: Parser<string> = (value) => value;

/** One word that can stand in a header. */
export const word: Parser<string> = (value) => {
  if (!/^[\x21-\x7e]+$/.test(value)) throw new Error('one word without spaces');
  return value;
};

export function integer(min: number, max: number): Parser<number> {
  return (value) => {
    const number = Number(value);
    if (!/^-?\d+$/.test(value) || number < min || number > max) throw new Error(`an integer from ${min} to ${max}`);
    return number;
  };
}

export const boolean: Parser<boolean> = (value) => {
  if (value !== 'true' && value !== 'false') throw new Error('true or false');
  return value === 'true';
};

export function oneOf<const T extends string>(...allowed: T[]): Parser<T> {
  return (value) => {
    const found = allowed.find((candidate) => candidate === value);
    if (found === undefined) throw new Error(`one of ${allowed.join(', ')}`);
    return found;
  };
}

/** Name of a table of the packet filter. */
export const tableName: Parser<string> = (value) => {
  if (!/^berth[a-z0-9_]{0,24}$/.test(value)) throw new Error('a name that starts with berth, of letters, digits and _');
  return value;
};

/** A comma list; empty text is the empty list. */
export function list<T>(item: Parser<T>): Parser<T[]> {
  return (value) =>
    value
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .map(item);
}

export function url(...schemes: string[]): Parser<string> {
  return (value) => {
    if (!URL.canParse(value) || !schemes.includes(new URL(value).protocol)) {
      throw new Error(`an address starting with ${schemes.join(' or ')}`);
    }
    return value.replace(/\/$/, '');
  };
}

export const address: Parser<string> = (value) => {
  if (isIP(value) === 0) throw new Error('an IP address');
  return value;
};

/** An IP address, with a port if need be: `192.0.2.1`, `192.0.2.1:5353`, `[2001:db8::1]:5353`. */
export const addressAndPort: Parser<string> = (value) => {
  const [, bracketed, v6Port] = /^\[([^\]]+)\](?::(\d{1,5}))?$/.exec(value) ?? [];
  const [, plain, v4Port] = /^([\d.]+):(\d{1,5})$/.exec(value) ?? [];
  const port = Number(v6Port ?? v4Port ?? 53);
  const family = isIP(bracketed ?? plain ?? value);
  if (family === 0 || (bracketed !== undefined && family !== 6) || port < 1 || port > 65535) {
    throw new Error('an IP address, with a port if need be, such as 192.0.2.1:53');
  }
  return value;
};

/** A domain name in lower case. */
export const domain: Parser<string> = (value) => {
  const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
  if (value.length > 190 || !new RegExp(`^${label}(?:\\.${label})*$`).test(value))
    throw new Error('a domain in lower case');
  return value;
};

/** An IP address, or a range of them in CIDR notation. */
export const addressOrRange: Parser<string> = (value) => {
  const [ip = '', prefix] = value.split('/');
  const family = isIP(ip);
  const longest = family === 4 ? 32 : 128;
  const valid = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= longest);
  if (family === 0 || !valid) throw new Error('an IP address or a range such as 192.0.2.0/24');
  return value;
};

/** The gateway's own address in a subnet, such as `10.158.0.1/16`. */
export const gateway: Parser<string> = (value) => {
  const [ip = '', prefix = ''] = value.split('/');
  if (isIP(ip) !== 4 || !/^\d{1,2}$/.test(prefix) || Number(prefix) < 8 || Number(prefix) > 28) {
    throw new Error("the gateway's address with a prefix from /8 to /28, such as 10.158.0.1/16");
  }
  return value;
};

export interface PortRange {
  first: number;
  last: number;
}

export const portRange: Parser<PortRange> = (value) => {
  const match = /^(\d{1,5})-(\d{1,5})$/.exec(value);
  const first = Number(match?.[1]);
  const last = Number(match?.[2]);
  if (!match || first < 1024 || last > 65535 || first > last) throw new Error('a range of ports such as 20000-29999');
  return { first, last };
};
