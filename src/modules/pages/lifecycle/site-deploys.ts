import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { Config } from '../../../config/config.js';
import { BlobError, BlobStore } from '../../../drivers/objects/blob-store.js';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database } from '../../../platform/database/database.js';
import { DomainError, unavailable } from '../../../platform/errors/domain-error.js';
import { newId } from '../../../platform/ids/id.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import { ArchiveError } from '../archive/archive-error.js';
import type { PackSummary } from '../archive/pack.js';
import { Deployment } from '../deployments/deployment.entity.js';
import { SiteQuota } from '../deployments/site-quota.service.js';
import { SitePublishing } from '../deployments/site-publishing.service.js';
import type { DeploymentView } from '../dto/deployment.dto.js';
import { SiteRepository } from '../sites/site.repository.js';
import { receiveArchive } from './archive-upload.js';
import { DeployQueue } from './deploy-queue.js';
import { Packer, PackingTooSlow } from './packer.js';

const MEGABYTE = 1024 * 1024;

export interface Deployed {
  deployment: DeploymentView;
  /** Milliseconds by what they went to, for `Server-Timing`. */
  timing: Record<'receive' | 'wait' | 'unpack' | 'compress' | 'publish', number>;
}

/** Takes archives in, and shows them. Until a deployment is complete, what is shown is untouched. */
@Injectable()
export class SiteDeploys {
  constructor(
    private readonly database: Database,
    private readonly config: Config,
    private readonly sites: SiteRepository,
    private readonly quota: SiteQuota,
    private readonly publishing: SitePublishing,
    private readonly blobs: BlobStore,
    private readonly packer: Packer,
    private readonly queue: DeployQueue,
    private readonly log: AppLogger,
  ) {}

  /** Once the signal is aborted it is given up, unless it is being shown by then. */
  async deploy(caller: Principal, siteId: string, request: Request, signal: AbortSignal): Promise<Deployed> {
    await this.sites.findOwned(this.database, caller.accountId, siteId);
    return this.queue.deploying(caller.accountId, () => this.take(caller, siteId, request, signal));
  }

  private async take(caller: Principal, siteId: string, request: Request, signal: AbortSignal): Promise<Deployed> {
    const began = performance.now();
    const archive = await receiveArchive(request, this.config.pagesTempDir);
    try {
      const received = performance.now();
      let turn = received;
      const { draft, pack } = await this.queue.packing(caller.accountId, signal, async () => {
        turn = performance.now();
        const draft = await this.begin(caller, siteId);
        return { draft, pack: await this.pack(archive.fd, draft, signal) };
      });
      const packed = performance.now();
      const deployment = await this.publish(caller, draft, pack, signal);
      const { compressing } = pack.ms;
      const timing = {
        receive: received - began,
        wait: turn - received,
        unpack: packed - turn - compressing,
        compress: compressing,
        publish: performance.now() - packed,
      };
      return { deployment, timing };
    } finally {
      await archive.close();
    }
  }

  /** The row that owns the pack while it is being written. How large that becomes is not known yet; only a full plan is. */
  private async begin({ accountId }: Principal, siteId: string): Promise<Deployment> {
    return this.database.transaction(async (tx) => {
      await this.quota.acquire(tx, accountId, 1);
      await this.sites.lockOwned(tx, accountId, siteId);
      const empty = { manifestAt: 0, manifestBytes: 0, files: 0, bytes: 0, warnings: [] };
      const times = { retiredAt: null, discardedAt: null, createdAt: new Date() };
      const draft = { id: newId('dep'), siteId, blobId: this.blobs.newId(), ...empty, ...times };
      const row = tx.manager.create(Deployment, { ...draft, status: 'PREPARING' });
      await tx.manager.insert(Deployment, row);
      return row;
    });
  }

  private async pack(fd: number, draft: Deployment, signal: AbortSignal): Promise<PackSummary> {
    const { pagesFileLimit, pagesInflatedLimitMb } = this.config;
    const limits = { entries: pagesFileLimit, inflatedBytes: pagesInflatedLimitMb * MEGABYTE };
    try {
      return await this.packer.pack(fd, draft.blobId, limits, signal);
    } catch (error) {
      await this.giveUp(draft);
      throw asAnswer(error);
    }
  }

  private async publish(
    caller: Principal,
    draft: Deployment,
    pack: PackSummary,
    signal: AbortSignal,
  ): Promise<DeploymentView> {
    try {
      signal.throwIfAborted();
      return await this.publishing.publish(caller, draft, pack);
    } catch (error) {
      await this.giveUp(draft);
      throw error;
    }
  }

  /** What cannot be cleared away now is so later, as the row is there still. */
  private async giveUp({ id, blobId }: Deployment): Promise<void> {
    try {
      const { affected } = await this.database.manager.update(
        Deployment,
        { id, status: 'PREPARING' },
        { discardedAt: new Date() },
      );
      if (affected !== 1) return;
      await this.blobs.delete(blobId);
      await this.database.manager.delete(Deployment, { id });
    } catch (error) {
      this.log.warn({ err: error, deploymentId: id }, 'a deployment that failed could not be cleared away yet');
    }
  }
}

function asAnswer(error: unknown): unknown {
  if (error instanceof ArchiveError) return new DomainError('bad_request', error.code, error.detail);
  if (error instanceof PackingTooSlow) {
    return new DomainError('bad_request', 'archive_too_slow', 'The archive takes too long to unpack.');
  }
  if (error instanceof BlobError) return unavailable('object_store', error);
  return error;
}
