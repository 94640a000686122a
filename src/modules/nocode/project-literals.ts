import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { NocodeProject } from './project.entity.js';

const MAX_BYTES = 32 * 1_048_576;

/** What tells one state of a project from every other, also after the database was set back to an older one. */
export type ProjectState = Pick<NocodeProject, 'id' | 'revision' | 'updatedAt'>;

/**
 * The documents that were last read or saved in this process, unpacked. Whoever reads asks the row first whether the project is
 * there, whose it is and in which state, so nothing here is ever out of date.
 */
@Injectable()
export class ProjectLiterals {
  private readonly kept = new LRUCache<string, Omit<ProjectState, 'id'> & { literal: Buffer }>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ literal }) => literal.length,
  });

  /** Whether it is worth to ask for the state alone. */
  has(id: string): boolean {
    return this.kept.has(id);
  }

  of({ id, revision, updatedAt }: ProjectState): Buffer | undefined {
    const found = this.kept.get(id);
    if (found?.revision !== revision || found.updatedAt.getTime() !== updatedAt.getTime()) return undefined;
    return found.literal;
  }

  keep({ id, revision, updatedAt }: ProjectState, literal: Buffer): void {
    this.kept.set(id, { revision, updatedAt, literal });
  }
}
