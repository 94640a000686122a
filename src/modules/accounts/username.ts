import { randomInt } from 'node:crypto';

/** 3 to 32 of `a-z 0-9 . _ -`, starting and ending with a letter or digit. */
export const USERNAME = /^[a-z0-9][a-z0-9._-]{1,30}[a-z0-9]$/;
export const EMAIL = /^[^\s@\p{Cc}]{1,64}@[^\s@\p{Cc}]{1,189}$/u;

/** E-mail addresses are compared as ASCII lower case; no other folding, as look-alikes are not the same address. */
export function normalizeEmail(email: string): string {
  return email.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** A username made of what the identity provider tells: always a valid one. */
export function usernameFrom(...candidates: (string | undefined)[]): string {
  for (const candidate of candidates) {
    const name = tidy((candidate ?? '').split('@')[0]!);
    if (USERNAME.test(name)) return name;
  }
  return `user-${digits()}`;
}

/** Another name of the same stem, for when the first is taken. */
export function variantOf(username: string): string {
  return `${tidy(username.slice(0, 25))}-${digits()}`;
}

function tidy(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '')
    .slice(0, 32)
    .replace(/^[._-]+|(?<![._-])[._-]+$/g, '');
}

function digits(): string {
  return String(randomInt(100_000, 1_000_000));
}
