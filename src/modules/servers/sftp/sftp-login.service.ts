import { Injectable } from '@nestjs/common';
import { createHash, timingSafeEqual } from 'node:crypto';
import { In, Like } from 'typeorm';
import { Database } from '../../../platform/database/database.js';
import { DomainError } from '../../../platform/errors/domain-error.js';
import type { SftpLogin, SftpLoginAnswer } from '../../../platform/internal-api/internal-api.contract.js';
import { AccountsService } from '../../accounts/accounts.service.js';
import type { ServerStatus } from '../server-status.js';
import { Server } from '../server.entity.js';
import { LoginTries } from './login-tries.js';
import { PasswordSeal } from './password-seal.js';
import { SftpCredentials } from './sftp-credentials.js';
import { parseSftpUsername } from './sftp-username.js';

/** While a service is being made, made anew or removed, its files are nobody's to touch. */
const FILES_OPEN: ServerStatus[] = ['STARTING', 'RUNNING', 'STOPPING', 'STOPPED', 'CRASHED'];
const NOBODY = { row: 'sftp:nobody', password: 'longer than any password there is, so nothing equals it' };

/** Decides who may see a service's files, and for how long. */
@Injectable()
export class SftpLoginService {
  private sealedNobody: Buffer | undefined;

  constructor(
    private readonly database: Database,
    private readonly credentials: SftpCredentials,
    private readonly seal: PasswordSeal,
    private readonly tries: LoginTries,
    private readonly accounts: AccountsService,
  ) {}

  /** Throws one and the same 401 whatever was wrong, and 429 after too many tries. */
  async login(nodeId: string, { username, password, address }: SftpLogin): Promise<SftpLoginAnswer> {
    const attempt = await this.tries.begin(username.toLowerCase(), address);
    if (!attempt.allowed) throw new DomainError('rate_limited', 'rate_limited', 'Too many wrong passwords.');
    const server = await this.find(nodeId, username);
    const secret = await this.credentials.find(server?.id ?? NOBODY.row);
    // Whoever is unknown costs what a wrong password costs.
    const expected = secret?.password ?? this.seal.open(this.nobody(), NOBODY.row);
    if (!equal(password, expected) || !server || !secret) {
      throw new DomainError('unauthenticated', 'unauthenticated', 'The name or the password is wrong.');
    }
    await attempt.forgive();
    const { id: serverId, accountId, image } = server;
    return { serverId, accountId, image, credentialVersion: secret.version };
  }

  /** Why a session that was made with this password must end; null when it may go on. */
  async endReason(nodeId: string, serverId: string, credentialVersion: number): Promise<string | null> {
    const server = await this.database.manager.findOne(Server, {
      select: { id: true, accountId: true },
      where: { id: serverId, nodeId, status: In(FILES_OPEN) },
    });
    if (!server) return 'the files of the service are not available';
    if (!(await this.accounts.findActive(server.accountId))) return 'the account is suspended';
    const version = await this.credentials.version(serverId);
    return version === credentialVersion ? null : 'the password was changed';
  }

  private async find(nodeId: string, name: string): Promise<Server | null> {
    const parsed = parseSftpUsername(name);
    const { username, uuidStart } = parsed ?? { username: '', uuidStart: '00000000' };
    const account = await this.accounts.findActive(username);
    const server = await this.database.manager.findOneBy(Server, {
      accountId: account?.id ?? '',
      nodeId,
      uuid: Like(`${uuidStart}-%`),
      status: In(FILES_OPEN),
    });
    return parsed && account && server;
  }

  private nobody(): Buffer {
    this.sealedNobody ??= this.seal.seal(NOBODY.password, NOBODY.row);
    return this.sealedNobody;
  }
}

function equal(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
