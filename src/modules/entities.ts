import { ActivityEvent } from '../platform/events/activity-event.entity.js';
import { IdempotencyKey } from '../platform/http/idempotency-key.entity.js';
import { Operation } from '../platform/operations/operation.entity.js';
import { ACCOUNT_ENTITIES } from './accounts/account-entities.js';
import { DATABASE_ENTITIES } from './databases/database-entities.js';
import { LXC_ENTITIES } from './lxc/lxc-entities.js';
import { HostingNode } from './nodes/node.entity.js';
import { Notification } from './notifications/notification.entity.js';
import { PortClaim } from './ports/port-claim.entity.js';
import { NocodeProject } from './nocode/project.entity.js';
import { SeoScan } from './seo/scans/scan.entity.js';
import { SeoScanUse } from './seo/scans/scan-use.entity.js';
import { PAGES_ENTITIES } from './pages/pages-entities.js';
import { SERVER_ENTITIES } from './servers/server-entities.js';
import { STORAGE_ENTITIES } from './storage/storage-entities.js';
import { VAULT_ENTITIES } from './vault/vault-entities.js';

/** Every table there is, for whoever opens the database. */
export const ENTITIES = [
  ...ACCOUNT_ENTITIES,
  Operation,
  ActivityEvent,
  IdempotencyKey,
  HostingNode,
  Notification,
  ...SERVER_ENTITIES,
  ...DATABASE_ENTITIES,
  ...VAULT_ENTITIES,
  ...STORAGE_ENTITIES,
  ...LXC_ENTITIES,
  PortClaim,
  NocodeProject,
  SeoScan,
  SeoScanUse,
  ...PAGES_ENTITIES,
];
