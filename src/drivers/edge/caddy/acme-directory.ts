import { readFile } from 'node:fs/promises';
import { Agent, request } from 'undici';
import type { EdgeSettings } from '../edge.js';

const TIMEOUT_MS = 5000;
const MAX_BYTES = 64 * 1024;
const KEEP_MS = 3_600_000;
const KEEP_FAILURE_MS = 60_000;

type Authority = Pick<EdgeSettings, 'acmeDirectory' | 'acmeCaFile'>;

/** What a certificate authority tells of itself (RFC 8555, 7.1.1). */
export class AcmeDirectory {
  private known: { names: string[]; until: number } | undefined;

  /** What it is called in CAA records; empty where it does not tell, or does not answer. */
  async names(authority: Authority): Promise<string[]> {
    if (this.known && this.known.until > Date.now()) return this.known.names;
    try {
      this.known = { names: await ask(authority), until: Date.now() + KEEP_MS };
    } catch {
      this.known = { names: this.known?.names ?? [], until: Date.now() + KEEP_FAILURE_MS };
    }
    return this.known.names;
  }
}

async function ask({ acmeDirectory, acmeCaFile }: Authority): Promise<string[]> {
  const ca = acmeCaFile === undefined ? {} : { ca: await readFile(acmeCaFile) };
  const agent = new Agent({ connect: { timeout: TIMEOUT_MS, ...ca }, maxResponseSize: MAX_BYTES });
  try {
    const { body } = await request(acmeDirectory, {
      dispatcher: agent,
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    });
    const { meta } = (await body.json()) as { meta?: { caaIdentities?: unknown } };
    const names = Array.isArray(meta?.caaIdentities) ? meta.caaIdentities : [];
    return names.filter((name) => typeof name === 'string').map((name) => name.toLowerCase());
  } finally {
    await agent.close();
  }
}
