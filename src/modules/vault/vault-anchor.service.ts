import { Injectable } from '@nestjs/common';
import { Config } from '../../config/config.js';
import { AnchorFile } from '../../platform/crypto/anchor-file.js';
import { AppLogger } from '../../platform/observability/logger.js';

/** How far each scope has come, noted outside of the database. */
@Injectable()
export class VaultAnchor {
  private opened: AnchorFile | undefined;

  constructor(
    private readonly config: Config,
    private readonly log: AppLogger,
  ) {}

  /** Ask before the database is asked: a scope that it then shows below this was put back. */
  floors(scopes: readonly string[]): number[] {
    return this.file.floors(scopes);
  }

  floor(scope: string): number {
    return this.floors([scope])[0]!;
  }

  scopes(): string[] {
    return this.file.names();
  }

  /** After the commit. What is not noted now is noted by the next read: the database may be ahead, never behind. */
  async raise(scope: string, epoch: number): Promise<void> {
    await this.quietly(() => this.file.raise(scope, epoch));
  }

  async forget(scope: string): Promise<void> {
    await this.quietly(() => this.file.forget(scope));
  }

  private get file(): AnchorFile {
    this.opened ??= new AnchorFile(this.config.require('vaultAnchorFile'));
    return this.opened;
  }

  private async quietly(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (err) {
      this.log.error({ err }, 'The anchor of the vault could not be written');
    }
  }
}
