import { Injectable } from '@nestjs/common';
import { DomainError } from '../../../platform/errors/domain-error.js';
import type { HeldAnswer } from '../../../platform/http/held-answers.js';
import { LastReads } from '../store/last-reads.service.js';
import { OpenedSecrets } from '../store/opened-secrets.js';
import { SecretsReader } from '../store/secrets-reader.service.js';
import { VaultIntegrityError } from '../store/vault-incidents.service.js';
import { AddressLock } from '../tokens/address-lock.service.js';
import { tokenIn } from '../tokens/runtime-token.js';
import { TokenLookUp, type TokenHolder } from '../tokens/token-look-up.service.js';
import { ReadLog } from './read-log.service.js';

/** What whoever has the runtime token of a service reads. */
@Injectable()
export class TokenReads {
  constructor(
    private readonly tokens: TokenLookUp,
    private readonly lock: AddressLock,
    private readonly secrets: SecretsReader,
    private readonly log: ReadLog,
    private readonly lastReads: LastReads,
  ) {}

  /** The service of the token; a refusal is recorded. */
  async admit(authorization: string | undefined, address: string): Promise<TokenHolder> {
    const token = tokenIn(authorization);
    const holder = token === null ? null : await this.tokens.find(token);
    if (!holder) throw new DomainError('unauthenticated', 'unauthenticated', 'A valid runtime token is required.');
    const refused = await this.refusal(holder, address);
    if (refused) {
      await this.record(holder, address, refused, []);
      throw new DomainError('forbidden', refused, 'The secrets are not given here.');
    }
    return holder;
  }

  /** The secrets of the service, recorded; the answer weighs as much more. Release them once it is out. */
  async open(holder: TokenHolder, address: string, answer: Pick<HeldAnswer, 'weigh'>): Promise<OpenedSecrets> {
    const opened = await this.read(holder, address);
    try {
      answer.weigh(opened.bytes);
      await this.record(holder, address, null, opened.keys);
    } catch (error) {
      opened.release();
      throw error;
    }
    this.lastReads.note(opened.secrets.map(({ id }) => id));
    return opened;
  }

  private async refusal({ suspended, addressLock }: TokenHolder, address: string): Promise<string | null> {
    if (suspended) return 'suspended';
    return addressLock && !(await this.lock.allows(address)) ? 'address_lock' : null;
  }

  private async read(holder: TokenHolder, address: string): Promise<OpenedSecrets> {
    try {
      return await this.secrets.of(holder);
    } catch (error) {
      if (error instanceof VaultIntegrityError) await this.record(holder, address, 'integrity', []);
      throw error;
    }
  }

  private record(
    { serverId, accountId }: TokenHolder,
    address: string,
    refused: string | null,
    keys: readonly string[],
  ): Promise<void> {
    return this.log.record({ serverId, accountId, via: 'token', address, refused, keys });
  }
}
