import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { getPublicSuffix } from 'tldts';
import { badField } from '../../../platform/errors/domain-error.js';

const MAX = 253;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** A domain as somebody wrote it, in its one spelling: ASCII, lower case, no dot at the end. A 400 for what no site can have. */
export function parseDomain(text: string): string {
  const refuse = (why: string) => badField('domain', 'invalid_domain', `domain ${why}`);
  const plain = text.trim().replace(/\.$/, '');
  if (/[\s/\\:@?#%[\]]/.test(plain)) throw refuse('must be a domain only, without scheme, port or path');
  if (plain.includes('*')) throw refuse('must not be a wildcard');
  const domain = domainToASCII(plain).toLowerCase();
  if (isIP(domain) !== 0) throw refuse('must not be an IP address');
  const labels = domain.split('.');
  if (domain.length > MAX || !labels.every((label) => LABEL.test(label))) throw refuse('must be a valid domain');
  if (labels.length < 2) throw refuse('must have at least two parts');
  if (/^\d+$/.test(labels.at(-1)!)) throw refuse('must not end in a number');
  if (getPublicSuffix(domain, { allowPrivateDomains: true }) === domain) {
    throw refuse('must not be a suffix that others register domains under');
  }
  return domain;
}

/** The domain, and those above it, nearest first, down to two labels. */
export function withParents(domain: string): string[] {
  const labels = domain.split('.');
  return labels.slice(0, -1).map((_, index) => labels.slice(index).join('.'));
}

/** Whether the name is the zone itself or lies in it. */
export function isWithin(name: string, zone: string): boolean {
  return name === zone || name.endsWith(`.${zone}`);
}

/** The `Host` of a request as a domain would be spelled: no port, no dot at the end; null for what is no domain. */
export function hostOf(header: string | undefined): string | null {
  const [, name] =
    /^([a-z0-9](?:[a-z0-9._-]{0,251}[a-z0-9])?)\.?(?::\d{1,5})?$/.exec(header?.toLowerCase() ?? '') ?? [];
  return name ?? null;
}
