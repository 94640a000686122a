import { Injectable } from '@nestjs/common';
import RedisStore from 'connect-redis';
import type { Request, RequestHandler, Response } from 'express';
import session, { type SessionData } from 'express-session';
import { randomBytes } from 'node:crypto';
import { unavailable } from '../../../platform/errors/domain-error.js';
import { Redis } from '../../../platform/redis/redis.js';
import { PanelSettings } from './panel-settings.js';

const HOUR_MS = 3_600_000;
const IDLE_MS = 8 * HOUR_MS;
export const ABSOLUTE_MS = 24 * HOUR_MS;

declare module 'express-session' {
  interface SessionData {
    accountId: string;
    /** The account's session generation at login. */
    generation: number;
    signedInAt: number;
    /** Tells the identity provider at logout whose session ends. */
    idToken: string;
  }
}

/** Browser sessions, kept in Redis: 8 hours without a request or 24 hours in all. */
@Injectable()
export class SessionMiddleware {
  private readonly handler: RequestHandler;

  constructor(redis: Redis, settings: PanelSettings) {
    this.handler = session({
      name: settings.sessionCookie,
      secret: settings.sessionSecrets,
      store: new RedisStore({ client: redis.fast, prefix: 'panel:session:', ttl: secondsLeft }),
      genid: () => randomBytes(32).toString('base64url'),
      resave: false,
      saveUninitialized: false,
      cookie: { path: '/', httpOnly: true, sameSite: 'lax', secure: settings.secure },
    });
  }

  /** Reads the request's session, if it has one. */
  attach(request: Request, response: Response): Promise<void> {
    return settled((done) => this.handler(request, response, done));
  }
}

/** Gives the browser a new session under a new id; what it had before login is worth nothing from then on. */
export async function startSession(request: Request, data: Omit<SessionData, 'cookie'>): Promise<void> {
  await settled((done) => request.session.regenerate(done));
  Object.assign(request.session, data);
  await settled((done) => request.session.save(done));
}

export function endSession(request: Request): Promise<void> {
  return settled((done) => request.session.destroy(done));
}

/** How long a session may still be left alone, in seconds; 0 or less ends it. */
export function secondsLeft({ signedInAt }: { signedInAt?: number }): number {
  if (signedInAt === undefined) return IDLE_MS / 1000;
  return Math.floor(Math.min(IDLE_MS, signedInAt + ABSOLUTE_MS - Date.now()) / 1000);
}

/** Any failure of the store is the store being away. */
function settled(start: (done: (error?: unknown) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start((error) => (error ? reject(unavailable('sessions', error)) : resolve()));
  });
}
