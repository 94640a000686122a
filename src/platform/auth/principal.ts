import type { Request } from 'express';

export const API_SCOPES = ['read', 'write'] as const;
export type ApiScope = (typeof API_SCOPES)[number];

/** Who makes a request, the same on both surfaces: a key of an account, or a browser session of it. */
export interface Principal {
  readonly accountId: string;
  readonly via: 'key' | 'session';
  /** The key used, null for a session. */
  readonly keyId: string | null;
  readonly scopes: ReadonlySet<ApiScope>;
  /** The client's address, as trusted proxies tell it. */
  readonly address: string;
}

/** Express requests carry their principal where Passport puts it. */
export function setPrincipal(request: Request, principal: Principal): void {
  request.user = principal;
}

/** The principal the guards found, undefined before them. */
export function principalOf(request: Request): Principal | undefined {
  return request.user as Principal | undefined;
}
