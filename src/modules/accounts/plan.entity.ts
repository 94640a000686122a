import { Column, Entity, PrimaryColumn } from 'typeorm';
import { CountColumn } from '../../platform/database/columns.js';

function Limit(name: string): PropertyDecorator {
  return Column({ name, type: 'int' });
}

/** What accounts on it may have. Rows are the operator's to change; lowering a limit takes nothing away. */
@Entity('plans')
export class Plan {
  /** The plan's name. */
  @PrimaryColumn({ name: 'id', type: 'varchar', length: 32, charset: 'ascii', collation: 'ascii_bin' })
  id!: string;

  @Limit('servers')
  servers!: number;

  /** MB in all services together. */
  @Limit('ram')
  ram!: number;

  /** MB in all services together. */
  @Limit('disk')
  disk!: number;

  /** Percent of a core in all services together. */
  @Limit('cpu')
  cpu!: number;

  @Limit('databases')
  databases!: number;

  /** Backups of each service. */
  @Limit('backups')
  backups!: number;

  @Limit('buckets')
  buckets!: number;

  @CountColumn('storage_bytes', { unsigned: false })
  storageBytes!: number;

  @Limit('sites')
  sites!: number;

  /** Deployments that are kept of each site. */
  @Limit('site_deployments')
  siteDeployments!: number;

  /** What all deployments together take in the object store, until they are removed there. */
  @CountColumn('site_bytes', { unsigned: false })
  siteBytes!: number;

  @Limit('machines')
  machines!: number;

  /** Snapshots of each machine. What they hold that the disk has changed since is the pool's, and counts nowhere else. */
  @Limit('machine_snapshots')
  machineSnapshots!: number;

  @Limit('nocode_projects')
  nocodeProjects!: number;

  /** Scans of foreign sites in any 30 days. */
  @Limit('scans')
  scans!: number;
}

export const PLAN_LIMITS = [
  'servers',
  'ram',
  'disk',
  'cpu',
  'databases',
  'backups',
  'buckets',
  'storageBytes',
  'sites',
  'siteDeployments',
  'siteBytes',
  'machines',
  'machineSnapshots',
  'nocodeProjects',
  'scans',
] as const satisfies (keyof Plan)[];

export type PlanLimit = (typeof PLAN_LIMITS)[number];
export type PlanLimits = Readonly<Record<PlanLimit, number>>;

/** The plan every account starts on. */
export const DEFAULT_PLAN = 'free';
