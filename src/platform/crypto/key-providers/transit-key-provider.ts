import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import { readPrivateFile } from '../../files/private-file.js';
import {
  contextBytes,
  keyProviderAway,
  KeyProvider,
  WrongKey,
  type KeyContext,
  type WrappedKey,
} from '../key-provider.js';

export interface TransitOptions {
  url: string;
  /** Where the transit engine is mounted. */
  mount: string;
  key: string;
  /** A file with a token, as an agent keeps it fresh; or else an AppRole. */
  tokenFile?: string | undefined;
  roleId?: string | undefined;
  secretIdFile?: string | undefined;
  caFile?: string | undefined;
}

const TIMEOUT_MS = 5000;
const FRESH_MS = 10_000;

interface Reply {
  status: number;
  data: Record<string, unknown>;
}

/** Wraps with a key of HashiCorp Vault's transit engine, which authenticates the context as associated data. */
export class TransitKeyProvider extends KeyProvider {
  readonly kind = 'vault-transit';
  private readonly agent: Agent;
  private token: { text: string; until: number } | undefined;
  private latest: { version: number; until: number } | undefined;

  constructor(private readonly options: TransitOptions) {
    super();
    const ca = options.caFile ? { ca: readFileSync(options.caFile, 'utf8') } : {};
    this.agent = new Agent({
      connect: ca,
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
      connectTimeout: TIMEOUT_MS,
    });
  }

  override async wrap(key: Buffer, context: KeyContext): Promise<WrappedKey> {
    const { status, data } = await this.call('POST', `encrypt/${this.keyPath}`, {
      plaintext: key.toString('base64'),
      associated_data: contextBytes(context).toString('base64'),
    });
    const ciphertext = String(data['ciphertext']);
    const keyId = versionOf(ciphertext);
    if (status !== 200 || keyId === null) throw keyProviderAway(new Error(`transit answered ${status} to encrypt`));
    return { keyId, blob: Buffer.from(ciphertext, 'ascii') };
  }

  override async unwrap({ keyId, blob }: WrappedKey, context: KeyContext): Promise<Buffer> {
    const ciphertext = blob.toString('ascii');
    if (versionOf(ciphertext) !== keyId) throw new WrongKey();
    const { status, data } = await this.call('POST', `decrypt/${this.keyPath}`, {
      ciphertext,
      associated_data: contextBytes(context).toString('base64'),
    });
    if (status === 400) throw new WrongKey();
    if (status !== 200 || typeof data['plaintext'] !== 'string')
      throw keyProviderAway(new Error(`transit answered ${status} to decrypt`));
    return Buffer.from(data['plaintext'], 'base64');
  }

  override async currentKeyId(): Promise<string> {
    if (!this.latest || this.latest.until < Date.now()) {
      const { status, data } = await this.call('GET', `keys/${this.keyPath}`);
      const version = data['latest_version'];
      if (status !== 200 || !Number.isSafeInteger(version))
        throw keyProviderAway(new Error(`transit answered ${status} about the key`));
      this.latest = { version: version as number, until: Date.now() + FRESH_MS };
    }
    return `v${this.latest.version}`;
  }

  override async check(): Promise<void> {
    await this.currentKeyId();
  }

  private get keyPath(): string {
    return encodeURIComponent(this.options.key);
  }

  private async call(method: 'GET' | 'POST', path: string, body?: object): Promise<Reply> {
    const full = `${this.options.mount.split('/').map(encodeURIComponent).join('/')}/${path}`;
    const reply = await this.send(method, full, body, await this.login());
    if (reply.status !== 403) return reply;
    // The token may have ended early: one more try with a new one.
    this.token = undefined;
    return this.send(method, full, body, await this.login());
  }

  private async login(): Promise<string> {
    if (this.token && this.token.until > Date.now()) return this.token.text;
    const { tokenFile, roleId, secretIdFile } = this.options;
    if (tokenFile) {
      this.token = { text: this.secret(tokenFile, 'TRANSIT_TOKEN_FILE'), until: Date.now() + FRESH_MS };
      return this.token.text;
    }
    const credentials = { role_id: roleId, secret_id: this.secret(secretIdFile ?? '', 'TRANSIT_SECRET_ID_FILE') };
    const { status, auth } = await this.exchange('POST', 'auth/approle/login', credentials);
    const text = auth['client_token'];
    const seconds = Number(auth['lease_duration']);
    if (status !== 200 || typeof text !== 'string')
      throw keyProviderAway(new Error(`transit answered ${status} to the login`));
    // A lease of 0 does not end.
    this.token = { text, until: Date.now() + (seconds > 0 ? (seconds * 1000 * 2) / 3 : FRESH_MS) };
    return text;
  }

  private secret(file: string, setting: string): string {
    try {
      return readPrivateFile(file, `the file that ${setting} names`).text.trim();
    } catch (error) {
      throw keyProviderAway(error);
    }
  }

  private async send(method: 'GET' | 'POST', path: string, body: object | undefined, token: string): Promise<Reply> {
    const { status, data } = await this.exchange(method, path, body, token);
    return { status, data };
  }

  private async exchange(
    method: 'GET' | 'POST',
    path: string,
    body?: object,
    token?: string,
  ): Promise<Reply & { auth: Record<string, unknown> }> {
    try {
      const answer = await request(`${this.options.url}/v1/${path}`, {
        method,
        dispatcher: this.agent,
        headers: {
          ...(token ? { 'x-vault-token': token } : {}),
          'x-vault-request': 'true',
          ...(body ? { 'content-type': 'application/json' } : {}),
        },
        body: body ? JSON.stringify(body) : null,
      });
      const text = await answer.body.text();
      const { data, auth } = text === '' ? {} : (JSON.parse(text) as { data?: object; auth?: object });
      return { status: answer.statusCode, data: { ...data }, auth: { ...auth } };
    } catch (error) {
      throw keyProviderAway(error);
    }
  }
}

/** `v3` of `vault:v3:…`, null for anything else. */
function versionOf(ciphertext: string): string | null {
  return /^vault:(v\d{1,9}):[A-Za-z0-9+/=]+$/.exec(ciphertext)?.[1] ?? null;
}
