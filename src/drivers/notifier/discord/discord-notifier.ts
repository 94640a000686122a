import { request } from 'undici';
import { Notifier, NotifierError } from '../notifier.js';

export interface DiscordOptions {
  /** Root of the REST API, with its version. */
  url: string;
  token: string;
  timeoutMs?: number;
}

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Record<string, unknown> | null;
}

const TIMEOUT_MS = 10_000;
const MAX_ANSWER = 64 * 1024;
const MIN_RETRY_MS = 1000;
const MAX_RETRY_MS = 3600_000;
/** The API's bound on what it recognises a repeated message by. */
const MAX_NONCE = 25;
const ID = /^\d{1,20}$/;

/** Private messages by a bot, over Discord's REST API or one like it. */
export class DiscordNotifier extends Notifier {
  private readonly timeoutMs: number;

  constructor(private readonly options: DiscordOptions) {
    super();
    this.timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  }

  override async sendPrivateMessage(recipient: string, text: string, key: string): Promise<void> {
    const channel = await this.openChannel(recipient);
    await this.post(`/channels/${channel}/messages`, {
      content: text,
      // Names of the account's own making may look like a call to everybody.
      allowed_mentions: { parse: [] },
      nonce: key.slice(-MAX_NONCE),
      enforce_nonce: true,
    });
  }

  private async openChannel(recipient: string): Promise<string> {
    const { body } = await this.post('/users/@me/channels', { recipient_id: recipient });
    const id = body?.['id'];
    if (typeof id !== 'string' || !ID.test(id)) {
      throw new NotifierError('unavailable', 'The chat platform answered without a channel.');
    }
    return id;
  }

  private async post(path: string, payload: object): Promise<Answer> {
    const answer = await this.exchange(path, payload);
    const { status } = answer;
    if (status >= 200 && status < 300) return answer;
    const code = answer.body?.['code'];
    const told = `The chat platform answered ${status}${typeof code === 'number' ? ` (${code})` : ''}.`;
    if (status === 429) throw new NotifierError('rate_limited', told, pauseOf(answer), isForAll(answer));
    if (status === 401) throw new NotifierError('unauthorized', told);
    if (status >= 400 && status < 500 && status !== 408) throw new NotifierError('refused', told);
    throw new NotifierError('unavailable', told);
  }

  private async exchange(path: string, payload: object): Promise<Answer> {
    const { url, token } = this.options;
    try {
      const signal = AbortSignal.timeout(this.timeoutMs);
      const { statusCode, headers, body } = await request(`${url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bot ${token}`, 'content-type': 'application/json', 'user-agent': 'Berth (hosting)' },
        body: JSON.stringify(payload),
        headersTimeout: this.timeoutMs,
        bodyTimeout: this.timeoutMs,
        signal,
      });
      return { status: statusCode, headers, body: parse(await readAtMost(body, MAX_ANSWER)) };
    } catch (error) {
      // What went wrong is told by its code alone: a message of the client's may quote what was sent.
      const { code, name } = error as { code?: unknown; name?: unknown };
      throw new NotifierError('unavailable', `The chat platform cannot be reached (${String(code ?? name)}).`);
    }
  }
}

async function readAtMost(body: AsyncIterable<Uint8Array>, limit: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    // Leaving the loop ends the connection; what we look for stands at the begin of an honest answer.
    if (size > limit) return '';
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function parse(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** Both the header and the body give seconds, the body with fractions. */
function pauseOf({ headers, body }: Answer): number {
  const header = [headers['retry-after']].flat()[0];
  const seconds = [Number(header ?? Number.NaN), Number(body?.['retry_after'] ?? Number.NaN)].filter(
    (value) => Number.isFinite(value) && value >= 0,
  );
  const longest = seconds.length === 0 ? 5 : Math.max(...seconds);
  return Math.min(MAX_RETRY_MS, Math.max(MIN_RETRY_MS, Math.ceil(longest * 1000)));
}

/** Most limits are a channel's. One that is told without the API's JSON comes from what stands before it, and bars the bot. */
function isForAll({ headers, body }: Answer): boolean {
  return body === null || body['global'] === true || headers['x-ratelimit-global'] === 'true';
}
