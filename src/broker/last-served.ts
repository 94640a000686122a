import { encodeDotenv } from '../platform/dotenv/dotenv-encoder.js';
import type { ServiceSecrets } from '../platform/internal-api/vault-reads.contract.js';
import { SecretBytes } from './secret-bytes.js';

/** All secrets of one service at one moment, in the form that `/v1/secrets` answers. */
export class LastServed {
  private constructor(
    readonly state: string,
    readonly keys: string[],
    readonly json: SecretBytes,
  ) {}

  static from({ state, secrets }: ServiceSecrets): LastServed {
    const members = secrets.map(({ key, value }) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
    return new LastServed(
      state,
      secrets.map(({ key }) => key),
      new SecretBytes(Buffer.from(`{${members.join(',')}}`)),
    );
  }

  /** The same in `.env` lines, and the keys that not every reader of such lines takes for the same. */
  env(): { lines: SecretBytes; nonportable: string[] } {
    const values = JSON.parse(this.json.bytes.toString()) as Record<string, string>;
    const { text, nonportable } = encodeDotenv(Object.entries(values).map(([key, value]) => ({ key, value })));
    return { lines: new SecretBytes(Buffer.from(text)), nonportable };
  }

  hold(): this {
    this.json.hold();
    return this;
  }

  release(): void {
    this.json.release();
  }
}
