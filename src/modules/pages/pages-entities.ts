import { Deployment } from './deployments/deployment.entity.js';
import { DomainClaim } from './domains/domain-claim.entity.js';
import { CertificateOrder } from './edge/certificate-order.entity.js';
import { Site } from './sites/site.entity.js';

/** The tables of this module, for whoever opens the database. */
export const PAGES_ENTITIES = [Site, Deployment, DomainClaim, CertificateOrder];
