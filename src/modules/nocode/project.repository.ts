import { Injectable } from '@nestjs/common';
import { LessThan } from 'typeorm';
import { Database, type Tx } from '../../platform/database/database.js';
import { notFound } from '../../platform/errors/domain-error.js';
import { NocodeProject } from './project.entity.js';

/** What a save changes. */
export type Changes = Partial<Pick<NocodeProject, 'name' | 'bytes' | 'document'>>;

/** Look-ups and saves of projects. None of them sees another account's. */
@Injectable()
export class ProjectRepository {
  constructor(private readonly database: Database) {}

  /** Without documents, newest first. */
  list(accountId: string, limit: number, before?: string): Promise<NocodeProject[]> {
    return this.database.manager.find(NocodeProject, {
      where: { accountId, ...(before === undefined ? {} : { id: LessThan(before) }) },
      order: { id: 'DESC' },
      take: limit,
    });
  }

  /** Without its document. */
  async findOwned({ manager }: Pick<Tx, 'manager'>, accountId: string, id: string): Promise<NocodeProject> {
    const project = await manager.findOneBy(NocodeProject, { id, accountId });
    if (!project) throw notFound();
    return project;
  }

  async findWhole({ manager }: Pick<Tx, 'manager'>, accountId: string, id: string): Promise<NocodeProject> {
    const project = await manager
      .createQueryBuilder(NocodeProject, 'project')
      .addSelect('project.document')
      .where({ id, accountId })
      .getOne();
    if (!project) throw notFound();
    return project;
  }

  /** Whoever decides by it holds the account's lock. */
  count({ manager }: Pick<Tx, 'manager'>, accountId: string): Promise<number> {
    return manager.countBy(NocodeProject, { accountId });
  }

  /**
   * Puts the changes in place of what is there and adds 1 to the revision, where the project is at `revision` (at any
   * when undefined). The row itself is asked, so of several saves of one revision one succeeds. False: it does not stand there.
   */
  async save(tx: Tx, accountId: string, id: string, changes: Changes, revision?: number): Promise<boolean> {
    const { affected } = await tx.manager
      .createQueryBuilder()
      .update(NocodeProject)
      .set({ ...changes, revision: () => 'revision + 1', updatedAt: new Date() })
      .where({ id, accountId, ...(revision === undefined ? {} : { revision }) })
      .execute();
    return affected === 1;
  }

  async delete(tx: Tx, accountId: string, id: string): Promise<boolean> {
    const { affected } = await tx.manager.delete(NocodeProject, { id, accountId });
    return affected === 1;
  }
}
