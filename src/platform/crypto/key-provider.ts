import { unavailable } from '../errors/domain-error.js';
import { lengthPrefixed } from './length-prefixed.js';

/** What a wrapped key belongs to. It opens with exactly this context only; providers may write it to their logs. */
export type KeyContext = Readonly<Record<string, string>>;

export interface WrappedKey {
  /** The key of the provider that it was wrapped with. */
  keyId: string;
  blob: Buffer;
}

/**
 * The port to whoever keeps the master key: keys go in and come out wrapped, the master key never does. When the provider
 * is away its methods throw the 503 of `keyProviderAway`, never anything weaker is used instead.
 */
export abstract class KeyProvider {
  abstract readonly kind: 'local' | 'vault-transit' | 'aws-kms';

  abstract wrap(key: Buffer, context: KeyContext): Promise<WrappedKey>;

  /** Throws `WrongKey` when it was not wrapped like this, by one of our keys. */
  abstract unwrap(wrapped: WrappedKey, context: KeyContext): Promise<Buffer>;

  /** The key that `wrap` uses now. What is wrapped with another one waits to be wrapped anew. */
  abstract currentKeyId(): Promise<string>;

  /** Resolves when the provider can be used. */
  abstract check(): Promise<void>;
}

/** A wrapped key that does not open: not ours, changed, or for another context. */
export class WrongKey extends Error {
  constructor(options?: ErrorOptions) {
    super('a wrapped key does not open', options);
  }
}

export function keyProviderAway(cause: unknown): Error {
  return unavailable('key_provider', cause);
}

/** The context as bytes to be authenticated, whatever order its names came in. */
export function contextBytes(context: KeyContext): Buffer {
  const names = Object.keys(context).sort();
  return lengthPrefixed(...names.flatMap((name) => [name, context[name]!]));
}
