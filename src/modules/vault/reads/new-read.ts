import type { ReadVia } from './vault-read.entity.js';

/** A request for a service's secrets, to be recorded. */
export interface NewRead {
  serverId: string;
  accountId: string;
  readId?: string | null;
  via: ReadVia;
  address: string;
  /** Null when it is to be served. */
  refused: string | null;
  keys: readonly string[];
  at?: Date;
}
