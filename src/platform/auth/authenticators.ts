import type { Request } from 'express';
import type { Principal } from './principal.js';

/** Answers whose API key this is. The implementation knows accounts; the guards do not. */
export abstract class ApiKeyAuthenticator {
  /** Null for every key that may not pass (unknown, revoked, expired, suspended, wrong address), without saying why. */
  abstract authenticate(key: string, address: string): Promise<Principal | null>;
}

/** Answers whose browser session a panel request belongs to. */
export abstract class SessionAuthenticator {
  abstract authenticate(request: Request): Promise<Principal | null>;
}

/** Counts keys that were presented and refused, per client address. */
export abstract class RefusalLimiter {
  /** Throws the 429 once the address has had too many; called on refusals only, so valid keys never pay for it. */
  abstract refused(request: Request): Promise<void>;
}
