import { Injectable } from '@nestjs/common';
import { randomInt } from 'node:crypto';
import { Config } from '../../config/config.js';
import { RowSeal } from '../../platform/crypto/row-seal.js';
import type { RegisteredHost } from './hosts/registered-host.entity.js';
import type { ServiceDatabase } from './service-database.entity.js';

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const LENGTH = 32;

type Version = Pick<ServiceDatabase, 'id' | 'version'>;

/** Keeps the passwords of databases and of the hosts they live on. */
@Injectable()
export class DatabasePasswords extends RowSeal {
  constructor(config: Config) {
    super(config, 'database-passwords');
  }

  /** A tenant sees its hash, so it is long; it goes into addresses, so it is letters and digits. */
  generate(): string {
    return Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('');
  }

  sealProgram(password: string, row: Version): Buffer {
    return this.seal(password, program(row));
  }

  openProgram(row: ServiceDatabase): string {
    return this.open(row.sealedProgram, program(row));
  }

  /** The password that follows; null when none is under way. */
  openNext(row: ServiceDatabase): string | null {
    return row.sealedNext && this.open(row.sealedNext, program({ id: row.id, version: row.version + 1 }));
  }

  sealPlatform(password: string, id: string): Buffer {
    return this.seal(password, `database:${id}:platform`);
  }

  openPlatform({ id, sealedPlatform }: ServiceDatabase): string {
    return this.open(sealedPlatform, `database:${id}:platform`);
  }

  sealHost(password: string, id: string): Buffer {
    return this.seal(password, `database-host:${id}`);
  }

  openHost({ id, sealedPassword }: RegisteredHost): string {
    return this.open(sealedPassword, `database-host:${id}`);
  }
}

function program({ id, version }: Version): string {
  return `database:${id}:program:${version}`;
}
