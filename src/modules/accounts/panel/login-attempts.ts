import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { createHash, randomBytes } from 'node:crypto';
import { unavailable } from '../../../platform/errors/domain-error.js';
import { Redis } from '../../../platform/redis/redis.js';
import { PanelSettings } from './panel-settings.js';

const LIFETIME_SECONDS = 600;

/** What must come back unchanged, or be known, when the identity provider sends the browser back. */
export interface LoginAttempt {
  state: string;
  nonce: string;
  verifier: string;
  returnTo: string;
}

/** Logins under way. Each belongs to the one browser that holds its cookie, counts once, and ends after ten minutes. */
@Injectable()
export class LoginAttempts {
  constructor(
    private readonly redis: Redis,
    private readonly settings: PanelSettings,
  ) {}

  async begin(response: Response, attempt: LoginAttempt): Promise<void> {
    const handle = randomBytes(32).toString('base64url');
    await this.store(() => this.redis.fast.set(keyOf(handle), JSON.stringify(attempt), 'EX', LIFETIME_SECONDS));
    response.cookie(this.settings.loginCookie, handle, { ...this.cookie, maxAge: LIFETIME_SECONDS * 1000 });
  }

  /** The browser's attempt, which cannot be taken a second time. */
  async take(request: Request, response: Response): Promise<LoginAttempt | null> {
    const handle = cookieOf(request, this.settings.loginCookie);
    if (handle === undefined) return null;
    response.clearCookie(this.settings.loginCookie, this.cookie);
    const kept = await this.store(() => this.redis.fast.getdel(keyOf(handle)));
    return kept === null ? null : (JSON.parse(kept) as LoginAttempt);
  }

  private get cookie() {
    return { path: '/', httpOnly: true, sameSite: 'lax', secure: this.settings.secure } as const;
  }

  private async store<T>(command: () => Promise<T>): Promise<T> {
    try {
      return await command();
    } catch (error) {
      throw unavailable('sessions', error);
    }
  }
}

/** Whoever reads Redis cannot take over a login: the cookie does not stand there. */
function keyOf(handle: string): string {
  return `panel:login:${createHash('sha256').update(handle).digest('base64url')}`;
}

function cookieOf(request: Request, name: string): string | undefined {
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const [key, value] = part.trim().split('=', 2);
    if (key === name && value !== undefined && /^[\w-]{43}$/.test(value)) return value;
  }
  return undefined;
}
