import { join } from 'node:path';
import { packageRoot } from '../platform/files/package-root.js';

export const SURFACES = ['public', 'panel'] as const;
export type Surface = (typeof SURFACES)[number];

/** Where the document of a surface is committed, and served from. */
export function documentFile(surface: Surface): string {
  return join(packageRoot(), 'docs', 'openapi', `${surface}.json`);
}
