export const BACKUP_OPERATIONS = {
  create: 'server.backup',
  restore: 'server.restore',
} as const;

/** Backups run beside power signals and whatever else a service is busy with. */
export const BACKUP_LANE = 'backup';

export interface BackupPayload {
  backupId: string;
  /** The plan has no room for one more: once this one is complete, it takes the place of the oldest if there still is none. */
  replaces: boolean;
}

export interface RestorePayload {
  backupId: string;
  /** Whether the service ran and is to run again. */
  wasRunning: boolean;
}

/** Containers and volumes that exist while a service's data is restored. */
export type Aside = 'rst' | 'old';

export function asideName(kind: Aside, serverId: string): string {
  return serverId.replace(/^srv_/, `${kind}-`);
}

/**
 * The copy of which a backup is made, and the workshop that is opened on it. Each has a name of its own: the copy of one is
 * still being removed when the next one begins.
 */
export function copyName(serverId: string, backupId: string): string {
  return `${serverId.replace(/^srv_/, 'bak-')}-${backupId.replace(/^bak_/, '')}`;
}
