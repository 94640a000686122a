/** The port to the chat platform, over which accounts are told what they asked to be told. */
export abstract class Notifier {
  /**
   * Sends a private message to a person. Resolves when the platform has taken it; every failure is a `NotifierError`.
   * Sending again under the same key soon after makes no second message, so that it may be tried again when it is not known
   * whether the first try arrived.
   */
  abstract sendPrivateMessage(recipient: string, text: string, key: string): Promise<void>;
}

/**
 * - `unavailable`: away, too slow, or broken; another try may do.
 * - `rate_limited`: not before `retryAfterMs`; nothing to anybody when the limit is `forAll`.
 * - `unauthorized`: our own credential is refused; the operator has to mend it.
 * - `not_configured`: there is no credential.
 * - `refused`: this person cannot be written to; trying again does not help.
 */
export type NotifierErrorCode = 'unavailable' | 'rate_limited' | 'unauthorized' | 'not_configured' | 'refused';

/** `message` is for operators; it holds neither the credential nor the text. */
export class NotifierError extends Error {
  constructor(
    readonly code: NotifierErrorCode,
    message: string,
    readonly retryAfterMs: number | null = null,
    readonly forAll = false,
  ) {
    super(message);
    this.name = 'NotifierError';
  }
}
