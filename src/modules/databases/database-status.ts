/**
 * `CREATING` until it is on its host, `FAILED` when the service's creation was undone, `FULL` while it is larger than it may
 * be: it can be read and emptied then.
 */
export const DATABASE_STATUSES = ['CREATING', 'READY', 'FULL', 'FAILED'] as const;
export type DatabaseStatus = (typeof DATABASE_STATUSES)[number];

/** Those in which it is on its host. */
export const USABLE: readonly DatabaseStatus[] = ['READY', 'FULL'];
