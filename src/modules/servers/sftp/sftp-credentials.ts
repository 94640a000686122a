import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { Database, isDuplicate, type Tx } from '../../../platform/database/database.js';
import { PasswordSeal } from './password-seal.js';
import { SftpCredential } from './sftp-credential.entity.js';

const PASSWORD_BYTES = 18;

export interface SftpSecret {
  password: string;
  version: number;
}

/** The passwords for services' files. A service has one from the first time that anybody asks for it. */
@Injectable()
export class SftpCredentials {
  constructor(
    private readonly database: Database,
    private readonly seal: PasswordSeal,
  ) {}

  async of(serverId: string): Promise<SftpSecret> {
    const found = await this.find(serverId);
    if (found) return found;
    try {
      return await this.database.transaction((tx) => this.insert(tx, serverId));
    } catch (error) {
      if (!isDuplicate(error)) throw error;
      return (await this.find(serverId))!;
    }
  }

  async find(serverId: string): Promise<SftpSecret | null> {
    const row = await this.database.manager.findOneBy(SftpCredential, { serverId });
    return row && { version: row.version, password: this.seal.open(row.sealedPassword, identity(row)) };
  }

  /** A new password; whoever is logged in with the old one is logged out. The service's row must be locked. */
  async rotate(tx: Tx, serverId: string): Promise<SftpSecret> {
    const row = await tx.manager.findOneBy(SftpCredential, { serverId });
    if (!row) return this.insert(tx, serverId);
    const { sealedPassword, ...secret } = this.make(serverId, row.version + 1);
    const { version } = secret;
    await tx.manager.update(SftpCredential, { serverId }, { version, sealedPassword, updatedAt: new Date() });
    return secret;
  }

  /** Version of the password that holds now; null when there is none. */
  async version(serverId: string): Promise<number | null> {
    const row = await this.database.manager.findOne(SftpCredential, {
      select: { serverId: true, version: true },
      where: { serverId },
    });
    return row?.version ?? null;
  }

  private async insert(tx: Tx, serverId: string): Promise<SftpSecret> {
    const { sealedPassword, ...secret } = this.make(serverId, 1);
    const { version } = secret;
    await tx.manager.insert(SftpCredential, { serverId, version, sealedPassword, updatedAt: new Date() });
    return secret;
  }

  private make(serverId: string, version: number): SftpSecret & { sealedPassword: Buffer } {
    const password = randomBytes(PASSWORD_BYTES).toString('base64url');
    return { password, version, sealedPassword: this.seal.seal(password, identity({ serverId, version })) };
  }
}

function identity({ serverId, version }: Pick<SftpCredential, 'serverId' | 'version'>): string {
  return `sftp:${serverId}:${version}`;
}
