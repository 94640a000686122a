import { RegisteredHost } from './hosts/registered-host.entity.js';
import { ServiceDatabase } from './service-database.entity.js';

/** The tables of this module, for whoever opens the database. */
export const DATABASE_ENTITIES = [RegisteredHost, ServiceDatabase];
