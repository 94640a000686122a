import { createHash } from 'node:crypto';
import { request as httpRequest, type ClientRequest } from 'node:http';
import { Body, Controller, Delete, Get, HttpCode, Post, Put, Query, Req, UseGuards } from '@nestjs/common';
import type { Request } from 'express';
import { IntField, StringField } from '../../../src/platform/http/fields.js';
import { BodyLimit, StreamBody } from '../../../src/platform/http/body.decorators.js';
import { IdParam } from '../../../src/platform/http/id.pipe.js';
import { IdempotencyKey } from '../../../src/platform/http/idempotency-key.entity.js';
import { Page, PageQuery } from '../../../src/platform/http/page.js';
import { notFound } from '../../../src/platform/errors/domain-error.js';
import { Database } from '../../../src/platform/database/database.js';
import { newId } from '../../../src/platform/ids/id.js';
import { TestDatabase } from '../../support/database.js';
import { RedisServer } from '../../support/redis-server.js';
import { type KernelApp, NameGuard, startKernelApp } from './kernel-app.js';
import { until } from '../../support/until.js';
import { sendRaw } from './raw-request.js';

class ThingDto {
  @StringField({ min: 3, max: 2_000_000 })
  name!: string;

  @IntField({ min: 1, max: 9, optional: true })
  size?: number;
}

@Controller('api/v1/things')
@UseGuards(NameGuard)
class ThingsController {
  constructor(private readonly database: Database) {}

  @Get()
  list(@Query() query: PageQuery): Page<number> {
    return new Page([query.limit], query.cursor ? null : 'next');
  }

  @Post()
  make(@Body() body: ThingDto): object {
    return { length: body.name.length, size: body.size ?? null };
  }

  @Post('actions')
  @HttpCode(202)
  act(@Req() request: Request): object {
    return { body: request.body as unknown };
  }

  @Put('large')
  @BodyLimit(100)
  large(@Body() body: ThingDto): object {
    return body;
  }

  @Put('stream')
  @StreamBody()
  async stream(@Req() request: Request): Promise<object> {
    const hash = createHash('sha256');
    for await (const chunk of request) hash.update(chunk as Buffer);
    return { sha256: hash.digest('hex') };
  }

  @Get('broken')
  async broken(): Promise<unknown> {
    return this.database.manager.query('SELECT secret FROM no_such_table WHERE a = ?', ['s3cret']);
  }

  @Get('sleepy')
  async sleepy(): Promise<unknown> {
    return this.database.manager.query('SELECT SLEEP(20)');
  }

  @Get(':id')
  get(@IdParam('srv') id: string): object {
    void id;
    throw notFound();
  }

  @Delete(':id')
  @HttpCode(204)
  remove(@IdParam('srv') id: string): void {
    void id;
  }
}

let redis: RedisServer;
let db: TestDatabase;
let kernel: KernelApp;

beforeAll(async () => {
  [redis, db] = await Promise.all([RedisServer.start(), TestDatabase.create([IdempotencyKey])]);
  kernel = await startKernelApp({ DATABASE_URL: db.url, REDIS_URL: redis.url, RATE_LIMIT_PER_MINUTE: '100000' }, [
    ThingsController,
  ]);
});

afterAll(async () => {
  await kernel.close();
  await db.drop();
  await redis.close();
});

const call = (path: string, init: RequestInit = {}) =>
  fetch(`${kernel.url}/api/v1/things${path}`, { ...init, headers: { authorization: 'Bearer usr_1', ...init.headers } });
const send = (
  method: string,
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  type: string | null = 'application/json',
) => call(path, { method, body, headers: type === null ? {} : { 'content-type': type } });
const code = async (answer: Promise<Response>) => {
  const { status, ...rest } = await answer.then(async (got) => ({
    status: got.status,
    body: (await got.json()) as { code?: string },
  }));
  return [status, rest.body.code];
};

describe('bodies', () => {
  const name = (length: number) => JSON.stringify({ name: 'x'.repeat(length - JSON.stringify({ name: '' }).length) });

  test('one megabyte is taken, a byte more is not, announced or not', async () => {
    expect((await send('POST', '', name(1_048_576))).status).toBe(201);
    expect(await code(send('POST', '', name(1_048_577)))).toEqual([413, 'body_too_large']);
    const chunked = (size: number) =>
      sendRaw(
        kernel.url,
        `POST /api/v1/things HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer usr_1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n` +
          `${size.toString(16)}\r\n${name(size)}\r\n0\r\n\r\n`,
      );
    expect((await chunked(1_048_576)).status).toBe(201);
    expect((await chunked(1_048_577)).status).toBe(413);
  });

  test('one that comes byte by byte is read as any other', async () => {
    const bytes = [...name(20_000)].map((byte) => `1\r\n${byte}\r\n`).join('');
    const answer = await sendRaw(
      kernel.url,
      `POST /api/v1/things HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer usr_1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n` +
        `${bytes}0\r\n\r\n`,
    );
    expect(JSON.parse(answer.body)).toMatchObject({ length: 20_000 - JSON.stringify({ name: '' }).length });
  });

  test('an account has so much memory for bodies on their way, and gets it back', async () => {
    const held: ClientRequest[] = [];
    const hold = (): void => {
      const headers = {
        authorization: 'Bearer usr_full',
        'content-type': 'application/json',
        'content-length': 1048576,
      };
      const request = httpRequest(`${kernel.url}/api/v1/things`, { method: 'POST', headers });
      request.on('error', () => undefined).flushHeaders();
      held.push(request);
    };
    for (let body = 0; body < 64; body++) hold();
    const attempt = (account: string) =>
      call('', {
        method: 'POST',
        body: name(100),
        headers: { authorization: `Bearer ${account}`, 'content-type': 'application/json' },
      });
    await until('no room is left', async () => {
      if ((await attempt('usr_full')).status === 429) return true;
      // One may have been refused for the sake of what this tried.
      hold();
      return false;
    });
    expect(await code(attempt('usr_full'))).toEqual([429, 'too_many_bodies']);
    expect((await attempt('usr_1')).status).toBe(201);
    for (const request of held) request.destroy();
    await until('there is room again', async () => (await attempt('usr_full')).status === 201);
  });

  test('a route has the limit it names', async () => {
    expect((await send('PUT', '/large', name(100))).status).toBe(200);
    expect(await code(send('PUT', '/large', name(101)))).toEqual([413, 'body_too_large']);
  });

  test('a body without end is refused at the limit, while it still comes', async () => {
    const status = await new Promise<number>((resolve, reject) => {
      const request = httpRequest(`${kernel.url}/api/v1/things`, {
        method: 'POST',
        headers: { authorization: 'Bearer usr_1', 'content-type': 'application/json' },
      });
      const feed = setInterval(() => request.write('x'.repeat(65_536)), 1);
      request.on('response', (response) => {
        clearInterval(feed);
        resolve(response.statusCode!);
        request.destroy();
      });
      request.on('error', reject);
    });
    expect(status).toBe(413);
  });

  test('a client that goes on sending after the answer is cut off', async () => {
    await new Promise<void>((resolve) => {
      const request = httpRequest(`${kernel.url}/api/v1/things`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
      });
      const feed = setInterval(() => request.write('x'.repeat(1024)), 20);
      const over = (): void => {
        clearInterval(feed);
        resolve();
      };
      request.on('response', (response) => response.resume());
      request.on('error', over).on('close', over);
    });
  });

  test('who asks before sending is told to go on only when the body will be read', async () => {
    const ask = (authorization: string) =>
      new Promise<[asked: boolean, status: number]>((resolve, reject) => {
        let asked = false;
        const headers = {
          authorization,
          'content-type': 'application/json',
          'content-length': 14,
          expect: '100-continue',
        };
        const request = httpRequest(`${kernel.url}/api/v1/things`, { method: 'POST', headers });
        request.on('continue', () => {
          asked = true;
          request.end('{"name":"abc"}');
        });
        request.on('response', (response) => {
          resolve([asked, response.statusCode!]);
          request.destroy();
        });
        request.on('error', reject).flushHeaders();
      });
    expect(await ask('Bearer nobody')).toEqual([false, 401]);
    expect(await ask('Bearer usr_1')).toEqual([true, 201]);
  });

  test.each([
    ['no type', null, 415, 'unsupported_media_type'],
    ['text', 'text/plain', 415, 'unsupported_media_type'],
    ['a form', 'application/x-www-form-urlencoded', 415, 'unsupported_media_type'],
    ['another charset', 'application/json; charset=latin1', 415, 'unsupported_media_type'],
  ])('%s is refused', async (_, type, status, word) => {
    const body = new TextEncoder().encode('{"name":"abc"}');
    expect(await code(send('POST', '', body, type))).toEqual([status, word]);
  });

  test.each(['application/json', 'Application/JSON; charset="UTF-8"', 'application/json;charset=utf8'])(
    '%s is taken',
    async (type) => {
      expect((await send('POST', '', '{"name":"abc"}', type)).status).toBe(201);
    },
  );

  test('a compressed body is refused, not inflated', async () => {
    const answer = call('', {
      method: 'POST',
      body: 'x',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    });
    expect(await code(answer)).toEqual([415, 'unsupported_encoding']);
  });

  test.each([
    ['{', 400, 'malformed_json'],
    ['[]', 400, 'body_not_object'],
    ['{"__proto__":{"name":"abc"}}', 400, 'forbidden_key'],
    ['{"name":"ab"}', 400, 'validation_failed'],
  ])('%s is refused', async (text, status, word) => {
    expect(await code(send('POST', '', text))).toEqual([status, word]);
    expect(({} as { name?: string }).name).toBeUndefined();
  });

  test('a POST without a body is one with an empty object', async () => {
    expect(await (await call('/actions', { method: 'POST' })).json()).toEqual({ body: {} });
    expect(
      await (await call('/actions', { method: 'POST', headers: { 'content-type': 'application/json' } })).json(),
    ).toEqual({ body: {} });
  });

  test('a streaming route gets every byte itself', async () => {
    const bytes = new Uint8Array(3_000_000).fill(7);
    expect(await (await send('PUT', '/stream', bytes, 'application/octet-stream')).json()).toEqual({
      sha256: createHash('sha256').update(bytes).digest('hex'),
    });
  });

  test('the guards come first: a bad key with a bad body is a 401', async () => {
    const answer = await call('', {
      method: 'POST',
      body: '{',
      headers: { authorization: 'x', 'content-type': 'text/plain' },
    });
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  });
});

describe('answers', () => {
  test('every answer has an id of ours, and is not to be stored', async () => {
    const answers = await Promise.all([
      call('', { headers: { 'x-request-id': 'mine' } }),
      call('/nothing'),
      fetch(`${kernel.url}/elsewhere`),
    ]);
    const ids = answers.map(({ headers }) => headers.get('x-request-id'));
    for (const id of ids) expect(id).toMatch(/^req_[0-9a-z]{16}$/);
    expect(new Set(ids).size).toBe(3);
    for (const { headers } of answers) {
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('content-security-policy')).toBe("default-src 'none';frame-ancestors 'none'");
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.has('x-powered-by') || headers.has('etag')).toBe(false);
    }
  });

  test('missing, foreign, misshapen and unrouted are one answer, but for id and path', async () => {
    const paths = [`/${newId('srv')}`, '/srv_short', '/usr_0', '/a/b/c', `/${'x'.repeat(300)}`, '/%00'];
    const bodies = await Promise.all(
      paths.map(async (path) => {
        const answer = await call(path);
        const { instance, requestId, ...rest } = (await answer.json()) as Record<string, unknown>;
        expect([answer.status, typeof instance, requestId]).toEqual([
          404,
          'string',
          answer.headers.get('x-request-id'),
        ]);
        return JSON.stringify([rest, [...answer.headers.keys()]]);
      }),
    );
    expect(new Set(bodies).size).toBe(1);
  });

  test('the query of a request is in no problem and no log line', async () => {
    const answer = await call('/nothing?token=s3cret');
    expect(await answer.text()).not.toContain('s3cret');
    expect(kernel.log()).not.toContain('s3cret');
  });

  test('a method the path does not know is a 405 that names those it knows', async () => {
    const answer = await call(`/${newId('srv')}`, { method: 'PATCH' });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'DELETE, GET, HEAD']);
  });

  test('a path that cannot be decoded is a 400', async () => {
    expect(await code(call('/%zz'))).toEqual([400, 'bad_request']);
  });

  test('a fault in a statement is a 500 that says nothing, and a line that says all', async () => {
    const answer = await call('/broken');
    const text = await answer.text();
    expect(answer.status).toBe(500);
    expect(text).not.toMatch(/no_such_table|secret|SELECT|ER_/);
    expect(kernel.log()).toContain('no_such_table');
    expect(kernel.log()).toContain(answer.headers.get('x-request-id')!);
  });

  test('a database connection that is lost is a 503 that names the part', async () => {
    const answer = call('/sleepy');
    const sleeping = async () =>
      db.query<{ id: number }[]>(
        "SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%' AND db = DATABASE()",
      );
    let rows = await sleeping();
    while (rows.length === 0) rows = await sleeping();
    await db.query(`KILL ${rows[0]!.id}`);
    expect(await code(answer)).toEqual([503, 'database_unavailable']);
    expect((await answer).headers.get('retry-after')).toBe('5');
  });

  test('a delete has no body, a HEAD neither', async () => {
    const removed = await call(`/${newId('srv')}`, { method: 'DELETE' });
    expect([removed.status, await removed.text()]).toEqual([204, '']);
    const head = await call('/nothing', { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([404, '']);
  });

  test('a page is an array with a link to the next', async () => {
    const answer = await call('?limit=2&host=a');
    expect(await answer.json()).toEqual([2]);
    expect(answer.headers.get('link')).toBe('</api/v1/things?limit=2&host=a&cursor=next>; rel="next"');
    const odd = await call('?limit=2&x=a?b%26c');
    expect(odd.headers.get('link')).toBe('</api/v1/things?limit=2&x=a%3Fb%26c&cursor=next>; rel="next"');
    expect((await call('?cursor=next')).headers.get('link')).toBeNull();
    expect(await code(call('?limit=0'))).toEqual([400, 'validation_failed']);
  });
});
