import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import ssh2 from 'ssh2';
import { Config } from '../../../config/config.js';
import { AppLogger } from '../../../platform/observability/logger.js';

/** By what a client recognises the platform's SFTP server. */
@Injectable()
export class SftpHostKey {
  private known: string | undefined;

  constructor(
    private readonly config: Config,
    private readonly log: AppLogger,
  ) {}

  /** As `ssh-keygen -l` shows it; null where this process does not have the key. */
  fingerprint(): string | null {
    this.known ??= this.read();
    return this.known ?? null;
  }

  private read(): string | undefined {
    const file = this.config.sftpHostKeyFile;
    if (!file) return undefined;
    try {
      const key = ssh2.utils.parseKey(readFileSync(file));
      if (key instanceof Error) throw key;
      const [first] = [key].flat();
      const digest = createHash('sha256').update(first!.getPublicSSH()).digest('base64');
      return `SHA256:${digest.replace(/={1,2}$/, '')}`;
    } catch (error) {
      this.log.warn({ code: (error as { code?: unknown }).code ?? null }, 'the SFTP host key cannot be read');
      return undefined;
    }
  }
}
