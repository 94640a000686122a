import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A provider over HTTP that keeps what it wraps, and gives it back for the same context only. */
abstract class FakeProvider {
  /** What came in, to be looked at. */
  readonly requests: { path: string; headers: Record<string, unknown>; body: any }[] = [];
  /** Answers this status instead, if set. */
  failing: number | null = null;
  protected readonly kept = new Map<string, { plain: string; context: string; key: string }>();
  private server: Server | undefined;
  url = '';

  async start(): Promise<this> {
    this.server = createServer((request, response) => {
      void bodyOf(request).then((body) => {
        const { url = '', headers, method = '' } = request;
        this.requests.push({ path: url, headers, body });
        const [status, answer] = this.failing ? [this.failing, {}] : this.answer(method, url, headers, body);
        response.writeHead(status, { 'content-type': this.mediaType }).end(JSON.stringify(answer));
      });
    });
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return this;
  }

  async close(): Promise<void> {
    this.server?.closeAllConnections();
    await new Promise((resolve) => this.server?.close(resolve));
  }

  protected readonly mediaType: string = 'application/json';
  protected abstract answer(
    method: string,
    path: string,
    headers: Record<string, unknown>,
    body: any,
  ): [status: number, answer: object];
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return text === '' ? null : JSON.parse(text);
}

/** HashiCorp Vault as far as its transit engine and AppRole login go. */
export class FakeTransit extends FakeProvider {
  version = 1;
  minimum = 1;
  token = 's.first';
  logins = 0;

  protected answer(
    method: string,
    path: string,
    headers: Record<string, unknown>,
    body: any,
  ): [status: number, answer: object] {
    if (path === '/v1/auth/approle/login') {
      if (body.role_id !== 'role' || body.secret_id !== 'the-secret-id') return [400, { errors: ['invalid'] }];
      this.logins++;
      return [200, { auth: { client_token: this.token, lease_duration: 3600 } }];
    }
    if (headers['x-vault-token'] !== this.token) return [403, { errors: ['permission denied'] }];
    if (method === 'GET' && path === '/v1/transit/keys/berth')
      return [200, { data: { latest_version: this.version, min_decryption_version: this.minimum } }];
    if (path === '/v1/transit/encrypt/berth') {
      const ciphertext = `vault:v${this.version}:${randomBytes(24).toString('base64')}`;
      this.kept.set(ciphertext, { plain: body.plaintext, context: body.associated_data, key: '' });
      return [200, { data: { ciphertext, key_version: this.version } }];
    }
    if (path === '/v1/transit/decrypt/berth') {
      const found = this.kept.get(body.ciphertext);
      const version = Number(/^vault:v(\d+):/.exec(body.ciphertext)?.[1]);
      if (!found || found.context !== body.associated_data || version < this.minimum)
        return [400, { errors: ['cipher: message authentication failed'] }];
      return [200, { data: { plaintext: found.plain } }];
    }
    return [404, { errors: [] }];
  }
}

const ARN = 'arn:aws:kms:eu-test-1:000000000000:key/';

/** AWS KMS as far as the three calls go. */
export class FakeKms extends FakeProvider {
  protected override readonly mediaType = 'application/x-amz-json-1.1';
  aliases: Record<string, string> = { 'alias/berth': `${ARN}one` };

  protected answer(
    _method: string,
    _path: string,
    headers: Record<string, unknown>,
    body: any,
  ): [status: number, answer: object] {
    if (!String(headers['authorization']).startsWith('AWS4-HMAC-SHA256 '))
      return [400, { __type: 'AccessDeniedException' }];
    const arn = this.aliases[body.KeyId] ?? String(body.KeyId);
    const context = JSON.stringify(Object.entries(body.EncryptionContext ?? {}).sort());
    switch (String(headers['x-amz-target']).replace('TrentService.', '')) {
      case 'DescribeKey':
        return [200, { KeyMetadata: { KeyId: arn.slice(ARN.length), Arn: arn } }];
      case 'Encrypt': {
        const blob = randomBytes(48).toString('base64');
        this.kept.set(blob, { plain: body.Plaintext, context, key: arn });
        return [200, { CiphertextBlob: blob, KeyId: arn }];
      }
      case 'Decrypt': {
        const found = this.kept.get(body.CiphertextBlob);
        if (found && body.KeyId !== found.key) return [400, { __type: 'IncorrectKeyException' }];
        if (!found || found.context !== context) return [400, { __type: 'InvalidCiphertextException' }];
        return [200, { Plaintext: found.plain, KeyId: found.key }];
      }
      default:
        return [400, { __type: 'UnknownOperationException' }];
    }
  }
}
