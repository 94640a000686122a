import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SentMessage {
  recipient: string;
  content: string;
}

/** The chat platform's REST API as far as private messages go; whatever is not asked as it documents is refused. */
export class FakeDiscord {
  readonly messages: SentMessage[] = [];
  private readonly nonces = new Set<string>();

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(token: string): Promise<FakeDiscord> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const fake = new FakeDiscord(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v10`);
    server.on('request', (request: IncomingMessage, response) => {
      void bodyOf(request).then((body) => {
        const isOurs = request.headers.authorization === `Bot ${token}` && request.method === 'POST';
        const [status, answer] = isOurs
          ? fake.answer(request.url ?? '', body)
          : [401, { message: '401: Unauthorized' }];
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      });
    });
    return fake;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private answer(path: string, body: any): [status: number, answer: object] {
    if (path === '/api/v10/users/@me/channels') return [200, { id: `9${body.recipient_id}` }];
    const [, recipient] = /^\/api\/v10\/channels\/9(\d+)\/messages$/.exec(path) ?? [];
    if (!recipient || typeof body.content !== 'string' || body.content.length > 2000)
      return [400, { code: 50035, message: 'Invalid Form Body' }];
    // A nonce that is enforced makes the second message of its name the first.
    if (!(body.enforce_nonce && this.nonces.has(body.nonce))) this.messages.push({ recipient, content: body.content });
    this.nonces.add(body.nonce);
    return [200, { id: String(this.messages.length) }];
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString() || 'null');
}
