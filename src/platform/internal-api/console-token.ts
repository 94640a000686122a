import { jwtVerify, SignJWT } from 'jose';
import { hkdfSync, randomUUID } from 'node:crypto';

/*
 * The token that opens a live console: made by the control plane, checked by the node with a key that is this node's alone.
 * Its claims are those of the Wings protocol, so that clients which look into it find what they know.
 */

export const CONSOLE_TOKEN_SECONDS = 600;
/** Clocks may differ by this much. */
const BEFORE_SECONDS = 300;
const ISSUER = 'berth';
const SCOPE = 'websocket';
const PERMISSIONS = [
  'websocket.connect',
  'control.console',
  'control.start',
  'control.stop',
  'control.restart',
] as const;
export type ConsolePermission = (typeof PERMISSIONS)[number];

/** What a caller who may only read gets: to watch. */
export const WATCHING: readonly ConsolePermission[] = ['websocket.connect'];
export const ACTING: readonly ConsolePermission[] = PERMISSIONS;

/** For whom a console is opened. `system` is the platform itself. */
export interface ConsoleGrant {
  serverId: string;
  serverUuid: string;
  accountId: string;
  via: 'key' | 'session' | 'system';
  keyId: string | null;
  /** The account's session generation, for a session. */
  sessionGeneration: number | null;
  permissions: readonly ConsolePermission[];
}

export interface OpenedGrant extends ConsoleGrant {
  issuedAt: number;
  expiresAt: number;
}

/** Why a token is refused, in words for whoever sent it. */
export class BadConsoleToken extends Error {}

/** The key of one node: it opens no other node's consoles. */
export function consoleKey(secret: string, nodeId: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', `console:${nodeId}`, 32));
}

export function signConsoleToken(
  key: Uint8Array,
  grant: ConsoleGrant,
  expiresAt = Date.now() + CONSOLE_TOKEN_SECONDS * 1000,
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return new SignJWT({
    user_uuid: grant.accountId,
    server_uuid: grant.serverUuid,
    server_id: grant.serverId,
    permissions: grant.permissions,
    scope: SCOPE,
    unique_id: randomUUID(),
    via: grant.via,
    key_id: grant.keyId,
    session_generation: grant.sessionGeneration,
  })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuer(ISSUER)
    .setJti(`${grant.accountId}:${grant.serverUuid}`)
    .setIssuedAt(now)
    .setNotBefore(now - BEFORE_SECONDS)
    .setExpirationTime(Math.floor(expiresAt / 1000))
    .sign(key);
}

export async function openConsoleToken(key: Uint8Array, token: string): Promise<OpenedGrant> {
  const { payload } = await jwtVerify(token, key, {
    algorithms: ['HS256'],
    issuer: ISSUER,
    requiredClaims: ['iat', 'nbf', 'exp', 'jti'],
  }).catch((cause: unknown) => {
    const expired = (cause as { code?: string }).code === 'ERR_JWT_EXPIRED';
    throw new BadConsoleToken(expired ? 'jwt: exp claim is invalid' : 'jwt: the token is not valid here', { cause });
  });
  const { scope, via, permissions, key_id: keyId, session_generation: sessionGeneration } = payload;
  if (typeof scope !== 'string' || !scope.split(' ').includes(SCOPE)) {
    throw new BadConsoleToken('jwt: the token is not for consoles');
  }
  if (!Array.isArray(permissions) || !permissions.includes('websocket.connect')) {
    throw new BadConsoleToken('jwt: missing connect permission');
  }
  return {
    serverId: payload.server_id as string,
    serverUuid: payload.server_uuid as string,
    accountId: payload.user_uuid as string,
    via: via as ConsoleGrant['via'],
    keyId: (keyId ?? null) as string | null,
    sessionGeneration: (sessionGeneration ?? null) as number | null,
    permissions: PERMISSIONS.filter((permission) => permissions.includes(permission)),
    issuedAt: payload.iat! * 1000,
    expiresAt: payload.exp! * 1000,
  };
}
