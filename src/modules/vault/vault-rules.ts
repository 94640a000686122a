/** What the vault takes. */
export const SECRET_KEY = /^[A-Z_][A-Z0-9_]{0,127}$/;
export const MAX_VALUE_BYTES = 32 * 1024;
export const MAX_NOTE = 500;
export const MAX_SECRETS = 200;
export const MAX_SCOPE_BYTES = 1024 * 1024;

/** Deleted secrets that a scope remembers by name. Beyond that, their versions are remembered together. */
export const MAX_REMEMBERED = 200;

/** How many of its reads a service shows. */
export const SHOWN_READS = 50;
