/*
 * How a node's secrets broker asks the control plane for the secrets of the services on its node, and tells it who read
 * them. A read is recorded before its bytes leave; what programs ask for at the same moment goes in one request and is
 * recorded in one transaction.
 */

/** One request of a program, as the broker saw it. */
export interface VaultRead {
  /** The broker's own, a uuid: a read that arrives twice is recorded once. */
  id: string;
  serverId: string;
  /** The program's address on the app network. */
  address: string;
  /** ISO 8601. */
  at: string;
  /** Why the broker refused it already; null asks for the secrets. */
  refused: string | null;
}

/** POST /internal/node/vault/reads */
export interface VaultReadsRequest {
  /** At most 500. */
  reads: VaultRead[];
  /** Of services whose secrets the node was given before and still holds: in which state. */
  holds: Record<string, string>;
}

/**
 * `unknown` is every service that is not this node's, does not run or has another address; `unavailable` one whose secrets
 * cannot be opened at the moment, as its key cannot be had.
 */
export type VaultRefusal = 'unknown' | 'suspended' | 'integrity' | 'unavailable';

/** Of each service that was asked for: its secrets, or why there are none. The reads are recorded by now, unless put off. */
export interface VaultReadsAnswer {
  services: Record<string, ServiceSecrets | UnchangedSecrets | PutOff | { refused: VaultRefusal; incident?: string }>;
}

export interface ServiceSecrets {
  /** Changes with any of them. */
  state: string;
  /** Sorted by key; a secret of the service hides one of the account. */
  secrets: { key: string; value: string }[];
}

/** They are in the state in which the node holds them. */
export interface UnchangedSecrets {
  unchanged: true;
}

/**
 * Its secrets would have made the answer too large beside those of others. Asked for again, alone, they are given: of what
 * was asked for, something always is.
 */
export interface PutOff {
  putOff: true;
}

/** A read that was answered from the node's memory while the control plane was away. */
export interface ServedRead extends VaultRead {
  keys: string[];
}

/** POST /internal/node/vault/served, answered with 204 */
export interface VaultServedRequest {
  /** At most 500. */
  reads: ServedRead[];
}
