export const BACKUP_OPERATIONS = {
  create: 'server.backup',
  restore: 'server.restore',
} as const;

/** Backups run beside power signals and whatever else a service is busy with. */
export const BACKUP_LANE = 'backup';

export interface BackupPayload {
  backupId: string;
  /** The plan has no room for one more: once this one is complete, it takes the place of the oldest. */
  replaces: boolean;
}

export interface RestorePayload {
  backupId: string;
  /** Whether the service ran and is to run again. */
  wasRunning: boolean;
}

/** Containers and volumes that exist while an operation of the service's is under way. */
export type Aside = 'bak' | 'rst' | 'old';

export function asideName(kind: Aside, serverId: string): string {
  return serverId.replace(/^srv_/, `${kind}-`);
}
