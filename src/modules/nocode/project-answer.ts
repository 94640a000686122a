import type { Request, Response } from 'express';
import { bytesPass } from '../../platform/http/passing-bytes.js';
import { unpackBytes } from '../../platform/packing/packed-text.js';
import { framedBetween } from '../../platform/packing/zstd-frame.js';
import { MAX_LITERAL_BYTES } from './dto/project.dto.js';
import type { WholeProject } from './projects.service.js';

/**
 * Answers with a project as JSON. Its document is kept as it stands in an answer, and packed as browsers unpack it, so for them
 * it is neither unpacked nor spelled anew.
 */
export async function sendProject(
  request: Request,
  response: Response,
  { project, packed }: WholeProject,
): Promise<void> {
  const before = Buffer.from(`${JSON.stringify(project).slice(0, -1)},"data":`);
  const after = Buffer.from('}');
  const asItIs = takesZstd(request);
  const parts = asItIs
    ? framedBetween(before, packed, after)
    : [before, await unpackBytes(packed, MAX_LITERAL_BYTES), after];
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  response.status(200).vary('Accept-Encoding');
  response.set({ 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': String(length) });
  if (asItIs) response.set('Content-Encoding', 'zstd');
  bytesPass(2 * length);
  // In one call of the system.
  response.cork();
  for (const part of parts) response.write(part);
  response.end();
}

/** Named, and not refused: who takes anything (`*`) may not know it. */
function takesZstd(request: Request): boolean {
  return /\bzstd\b/i.test(request.get('accept-encoding') ?? '') && request.acceptsEncodings('zstd') === 'zstd';
}
