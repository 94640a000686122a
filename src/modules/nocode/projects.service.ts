import { Injectable } from '@nestjs/common';
import type { Principal } from '../../platform/auth/principal.js';
import { Database, type Tx } from '../../platform/database/database.js';
import { conflict, notFound, quotaExceeded } from '../../platform/errors/domain-error.js';
import { actorOf, EventRecorder } from '../../platform/events/event-recorder.js';
import { decodeCursor, Page, type PageQuery } from '../../platform/http/page.js';
import { bytesPass } from '../../platform/http/passing-bytes.js';
import { newId } from '../../platform/ids/id.js';
import { packText, unpackBytes } from '../../platform/packing/packed-text.js';
import { QuotaLock } from '../accounts/quota-lock.service.js';
import { MAX_LITERAL_BYTES, projectView, type ProjectQuota, type ProjectView } from './dto/project.dto.js';
import { NocodeProject } from './project.entity.js';
import { ProjectLiterals } from './project-literals.js';
import { ProjectRepository, type Changes } from './project.repository.js';
import type { ReadDocument } from './reading/project-body.js';

const MAX_NAME = 100;

export interface NewProject {
  name: string;
  document: ReadDocument;
}

/** A project, with its document as a JSON string. */
export interface WholeProject {
  project: ProjectView;
  literal: Buffer;
}

/** A save; what is undefined stays as it is. */
export interface ProjectSave {
  name?: string | undefined;
  document?: ReadDocument | undefined;
  revision?: number | undefined;
}

/** Keeps the documents of the no-code builder. */
@Injectable()
export class ProjectsService {
  constructor(
    private readonly database: Database,
    private readonly projects: ProjectRepository,
    private readonly literals: ProjectLiterals,
    private readonly quota: QuotaLock,
    private readonly events: EventRecorder,
  ) {}

  async allowance({ accountId }: Principal): Promise<ProjectQuota> {
    const [{ nocodeProjects: allowed }, used] = await Promise.all([
      this.quota.peek(this.database, accountId),
      this.projects.count(this.database, accountId),
    ]);
    return { allowed, used, canCreate: used < allowed };
  }

  async list({ accountId }: Principal, { limit, cursor }: PageQuery): Promise<Page<ProjectView>> {
    const before = cursor === undefined ? undefined : (decodeCursor(cursor, ['id'])[0] as string);
    const rows = await this.projects.list(accountId, limit + 1, before);
    return Page.of(rows, limit, ({ id }) => [id]).map(projectView);
  }

  async get({ accountId }: Principal, id: string): Promise<WholeProject> {
    if (this.literals.has(id)) {
      const project = await this.projects.findOwned(this.database, accountId, id);
      const literal = this.literals.of(project);
      if (literal) return { project: projectView(project), literal };
    }
    const project = await this.projects.findWhole(this.database, accountId, id);
    const literal = await unpackBytes(project.document, MAX_LITERAL_BYTES);
    bytesPass(project.document.length + literal.length);
    this.literals.keep(project, literal);
    return { project: projectView(project), literal };
  }

  async create(caller: Principal, { name, document }: NewProject): Promise<ProjectView> {
    const packed = await packText(document.literal);
    return this.database.transaction((tx) =>
      this.add(tx, caller, 'nocode:create', async () => ({ name, bytes: document.bytes, document: packed })),
    );
  }

  /** A project of its own with the same document, at revision 1. */
  async duplicate(caller: Principal, id: string): Promise<ProjectView> {
    return this.database.transaction((tx) =>
      this.add(tx, caller, 'nocode:duplicate', async () => {
        const { name, bytes, document } = await this.projects.findWhole(tx, caller.accountId, id);
        return { name: copyName(name), bytes, document };
      }),
    );
  }

  async save({ accountId }: Principal, id: string, { name, document, revision }: ProjectSave): Promise<ProjectView> {
    const changes: Changes = {
      ...(name === undefined ? {} : { name }),
      ...(document === undefined ? {} : { bytes: document.bytes, document: await packText(document.literal) }),
    };
    return this.database.transaction(async (tx) => {
      const saved = await this.projects.save(tx, accountId, id, changes, revision);
      const project = await this.projects.findOwned(tx, accountId, id);
      if (saved) {
        if (document) tx.afterCommit(() => this.literals.keep(project, document.literal));
        return projectView(project);
      }
      throw conflict('stale_revision', `The project is at revision ${project.revision}, not ${revision}.`, {
        currentRevision: project.revision,
      });
    });
  }

  /** The working document only; what was published of it stays. */
  async delete(caller: Principal, id: string): Promise<void> {
    const { accountId } = caller;
    await this.database.transaction(async (tx) => {
      if (!(await this.projects.delete(tx, accountId, id))) throw notFound();
      await this.events.record(tx, { accountId, resourceId: id, event: 'nocode:delete', ...actorOf(caller) });
    });
  }

  /** Adds a project where the plan has room; what it is made of is asked for once the account is held. */
  private async add(
    tx: Tx,
    caller: Principal,
    event: string,
    content: () => Promise<Pick<NocodeProject, 'name' | 'bytes' | 'document'>>,
  ): Promise<ProjectView> {
    const { accountId } = caller;
    const { nocodeProjects: allowed } = await this.quota.acquire(tx, accountId);
    const { name, bytes, document } = await content();
    const used = await this.projects.count(tx, accountId);
    if (used >= allowed) throw quotaExceeded({ name: 'nocodeProjects', allowed, used, requested: 1 });
    const now = new Date();
    const project = { id: newId('prj'), name, revision: 1, bytes, createdAt: now, updatedAt: now };
    await tx.manager.insert(NocodeProject, { ...project, accountId, document });
    await this.events.record(tx, { accountId, resourceId: project.id, event, ...actorOf(caller) });
    return projectView(project);
  }
}

/** `Name (copy)`, cut where it would be longer than a name may be. */
function copyName(name: string): string {
  const suffix = ' (copy)';
  return [...name].slice(0, MAX_NAME - suffix.length).join('') + suffix;
}
