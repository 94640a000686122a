import { randomBytes } from 'node:crypto';
import { request as send } from 'node:http';
import { setLimits } from '../../support/own-plan.js';
import { startBerth, type Berth, type TestAccount } from '../../support/app.js';
import type { Api } from '../../support/api.js';

let berth: Berth;
let person: TestAccount;

beforeAll(async () => {
  berth = await startBerth({ roles: ['api'], databaseHost: false });
  person = await berth.makeAccount();
});
afterAll(() => berth?.close());

const MAX = 2 * 1_048_576;

async function make(api: Api, data = '{"pages":[]}', name = 'site'): Promise<string> {
  return (await api.post('/nocode/projects', { name, data })).expect(201).body.id as string;
}

describe('a document', () => {
  test.each([
    ['with spaces and line ends', ' {\r\n\t"b" : 1.0 ,\n"a":1e0}\n '],
    ['with doubled keys', '{"a":1,"a":2,"__proto__":{"x":1},"constructor":null}'],
    ['with escapes', '"\\u0041\\/\\ud83d\\ude00\\u0000\\u2028"'],
    ['with every kind of character', JSON.stringify('\u0000\u2028é😀\ufffe\u{10ffff}<script>')],
    ['of numbers no program keeps', '[123456789012345678901234567890, 1e999, -0.10]'],
    ['that is one word', 'null'],
    ['deeper than any body may be', `${'['.repeat(10_000)}${']'.repeat(10_000)}`],
    [
      'that cannot be compressed',
      JSON.stringify(
        randomBytes(1_500_000)
          .toString('base64')
          .slice(0, MAX - 2),
      ),
    ],
    ['of the largest size', JSON.stringify('é'.repeat((MAX - 2) / 2))],
  ])('%s comes back byte for byte', async (_what, data) => {
    const created = (await person.api.post('/nocode/projects', { name: 'kept', data })).expect(201).body;
    expect(created).toMatchObject({ name: 'kept', revision: 1, bytes: Buffer.byteLength(data) });
    const read = (await person.readOnly.get(`/nocode/projects/${created.id}`)).expect(200).body;
    expect(read.data === data).toBe(true);
    const copy = (await person.api.post(`/nocode/projects/${created.id}/duplicate`)).expect(201).body;
    expect(copy).toMatchObject({ name: 'kept (copy)', revision: 1, bytes: created.bytes });
    expect((await person.api.get(`/nocode/projects/${copy.id}`)).expect(200).body.data === data).toBe(true);
    for (const id of [created.id, copy.id]) (await person.api.delete(`/nocode/projects/${id}`)).expect(204);
    (await person.api.get(`/nocode/projects/${created.id}`)).expect(404);
  });

  test('that was read before is not answered with once its row says otherwise', async () => {
    const [id, other] = [await make(person.api, '{"a":1}'), await make(person.api, '{"b":2}')];
    const read = () => person.api.get(`/nocode/projects/${id}`);
    expect((await read()).expect(200).body.data).toBe('{"a":1}');
    // As another process changes it, and as it is after an older database was restored.
    for (const change of ['revision = a.revision + 1', 'updated_at = a.updated_at - INTERVAL 1 SECOND']) {
      await berth.database.query(
        `UPDATE nocode_projects a JOIN nocode_projects b ON b.id = ? SET a.document = b.document, a.${change} WHERE a.id = ?`,
        [other, id],
      );
      expect((await read()).expect(200).body.data).toBe('{"b":2}');
      (await person.api.patch(`/nocode/projects/${id}`, { data: '{"a":1}' })).expect(200);
      expect((await read()).expect(200).body.data).toBe('{"a":1}');
    }
    await berth.database.query(
      `UPDATE nocode_projects SET document = CONCAT(LEFT(document, LENGTH(document) - 1), CHAR(ORD(RIGHT(document, 1)) ^ 1)),
              revision = revision + 1 WHERE id = ?`,
      [id],
    );
    (await read()).expect(500);
  });

  test('is kept compressed', async () => {
    const id = await make(person.api, JSON.stringify(Array(20_000).fill({ kind: 'text', value: 'Hello' })));
    const [row] = await berth.database.query<{ bytes: number; kept: number }[]>(
      'SELECT bytes, LENGTH(document) AS kept FROM nocode_projects WHERE id = ?',
      [id],
    );
    expect(row!.bytes).toBeGreaterThan(600_000);
    expect(Number(row!.kept)).toBeLessThan(row!.bytes / 20);
  });

  test.each([
    ['no JSON', { data: '{"a":}' }, 400, { code: 'validation_failed' }],
    ['JSON with more behind it', { data: '{} {}' }, 400, { code: 'validation_failed' }],
    ['no text', { data: { pages: [] } }, 400, { code: 'validation_failed' }],
    ['too large', { data: JSON.stringify('x'.repeat(MAX - 1)) }, 413, { code: 'document_too_large', maxBytes: MAX }],
  ])('that is %s is refused', async (_why, body, status, problem) => {
    const id = await make(person.api);
    for (const answer of await Promise.all([
      person.api.post('/nocode/projects', { name: 'x', ...body }),
      person.api.patch(`/nocode/projects/${id}`, body),
    ])) {
      expect(answer.expect(status).body).toMatchObject(problem);
      if (status === 400) expect(answer.body.errors).toEqual([expect.objectContaining({ field: 'data' })]);
    }
    expect((await person.api.get(`/nocode/projects/${id}`)).expect(200).body.revision).toBe(1);
  });

  test('that never ends is refused at its limit, while it comes', async () => {
    const { status, sent } = await endless('/api/v1/nocode/projects', '{"name":"x","data":"\\"', 'x'.repeat(65_536));
    expect(status).toBe(413);
    expect(sent).toBeLessThan(64 * 1_048_576);
  });

  test('that is given twice is refused at the second, while it comes', async () => {
    const { status, sent } = await endless('/api/v1/nocode/projects', '{"name":"x"', ',"data":""'.repeat(7000));
    expect(status).toBe(400);
    expect(sent).toBeLessThan(64 * 1_048_576);
  });

  test('in a body that is announced as too large is refused before it comes', async () => {
    const raw = `{"name":"x","data":"[]"}${' '.repeat(13 * 1_048_576)}`;
    const answers = [
      await person.api.send('POST', '/nocode/projects', { raw }),
      await person.api.send('PATCH', `/nocode/projects/${await make(person.api)}`, { raw }),
    ];
    for (const answer of answers) {
      expect(answer.expect(413).body).toMatchObject({ code: 'body_too_large', maxBytes: 13 * 1_048_576 });
    }
  });

  test('that is no JSON is refused at once, while it comes', async () => {
    const { status } = await endless('/api/v1/nocode/projects', '{"name":"x","data":"}', 'x'.repeat(65_536));
    expect(status).toBe(400);
  });
});

/** Sends the same piece again and again until there is an answer. */
function endless(path: string, begin: string, piece: string): Promise<{ status: number; sent: number }> {
  return new Promise((resolve, reject) => {
    let [sent, over] = [0, false];
    const { hostname, port } = new URL(berth.baseUrl);
    const headers = { authorization: `Bearer ${person.key}`, 'content-type': 'application/json' };
    const request = send({ hostname, port, path, method: 'POST', headers, agent: false });
    request.on('response', (response) => {
      over = true;
      response.resume();
      resolve({ status: response.statusCode!, sent });
      request.destroy();
    });
    request.on('error', (error) => (over ? undefined : reject(error)));
    const more = (): void => {
      while (!over && sent < 1 << 30) {
        sent += piece.length;
        if (!request.write(piece)) return;
      }
    };
    request.on('drain', more);
    request.write(begin);
    more();
  });
}

describe('revisions', () => {
  test('each save adds 1; a stale or future one is 409 and changes nothing', async () => {
    const id = await make(person.api);
    const path = `/nocode/projects/${id}`;
    expect((await person.api.patch(path, { data: '[1]', revision: 1 })).expect(200).body.revision).toBe(2);
    expect((await person.api.patch(path, { name: 'renamed' })).expect(200).body).toMatchObject({ revision: 3 });
    for (const revision of [1, 2, 4, 2_147_483_647]) {
      const answer = (await person.api.patch(path, { name: 'lost', data: '[9]', revision })).expect(409);
      expect(answer.body).toMatchObject({ code: 'stale_revision', currentRevision: 3 });
    }
    expect((await person.api.get(path)).expect(200).body).toMatchObject({ name: 'renamed', data: '[1]', revision: 3 });
  });

  test('of twenty saves of one revision one wins', async () => {
    const panel = await berth.signIn(person);
    const id = await make(person.api);
    for (let revision = 1; revision <= 3; revision++) {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          (index % 2 ? person.api : panel).patch(`/nocode/projects/${id}`, { data: `[${index}]`, revision }),
        ),
      );
      const won = answers.flatMap(({ status }, index) => (status === 200 ? [index] : []));
      expect(won).toHaveLength(1);
      for (const answer of answers.filter(({ status }) => status !== 200)) {
        expect(answer.expect(409).body.currentRevision).toBe(revision + 1);
      }
      const project = (await person.api.get(`/nocode/projects/${id}`)).expect(200).body;
      expect(project).toMatchObject({ data: `[${won[0]}]`, revision: revision + 1 });
    }
  });

  test('saves without a revision all count', async () => {
    const id = await make(person.api);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => person.api.patch(`/nocode/projects/${id}`, { data: `[${index}]` })),
    );
    const revisions = answers.map((answer) => answer.expect(200).body.revision as number).sort((a, b) => a - b);
    expect(revisions).toEqual(Array.from({ length: 20 }, (_, index) => index + 2));
  });

  test('a save of nothing is refused', async () => {
    const id = await make(person.api);
    for (const body of [{}, { revision: 1 }]) (await person.api.patch(`/nocode/projects/${id}`, body)).expect(400);
  });
});

describe('the plan', () => {
  test('of twenty that are made or copied at once as many fit as it allows', async () => {
    const other = await berth.makeAccount();
    const source = await make(other.api);
    await setLimits(berth, other, { nocode_projects: 5 });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index % 2
          ? other.api.post(`/nocode/projects/${source}/duplicate`)
          : other.api.post('/nocode/projects', { name: 'x', data: '{}' }),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(4);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect(answer.expect(403).body).toMatchObject({
        code: 'quota_exceeded',
        limit: { name: 'nocodeProjects', allowed: 5, used: 5, requested: 1 },
      });
    }
    expect((await other.readOnly.get('/nocode/quota')).expect(200).body).toEqual({
      allowed: 5,
      used: 5,
      canCreate: false,
    });
    (await other.api.delete(`/nocode/projects/${source}`)).expect(204);
    expect((await other.api.get('/nocode/quota')).expect(200).body).toEqual({ allowed: 5, used: 4, canCreate: true });
  });

  test('where it is lowered nothing is lost, and saving goes on', async () => {
    const other = await berth.makeAccount();
    const ids = [await make(other.api), await make(other.api)];
    await setLimits(berth, other, { nocode_projects: 1 });
    expect((await other.api.get('/nocode/quota')).expect(200).body).toEqual({ allowed: 1, used: 2, canCreate: false });
    for (const id of ids) (await other.api.patch(`/nocode/projects/${id}`, { data: '[1]' })).expect(200);
  });
});

test('lists hold no documents', async () => {
  const other = await berth.makeAccount();
  const ids = [await make(other.api), await make(other.api, '{}', 'second')];
  const list = (await other.readOnly.get('/nocode/projects')).expect(200).body as Record<string, unknown>[];
  expect(list.map(({ id }) => id)).toEqual(ids.reverse());
  expect(Object.keys(list[0]!).sort()).toEqual(['bytes', 'createdAt', 'id', 'name', 'revision', 'updatedAt']);
});

test('another account sees, changes, copies and deletes nothing', async () => {
  const [id, stranger] = [await make(person.api), await berth.makeAccount()];
  const path = `/nocode/projects/${id}`;
  (await person.api.get(path)).expect(200);
  (await stranger.api.get(path)).expect(404);
  (await stranger.api.patch(path, { data: '[]', revision: 1 })).expect(404);
  (await stranger.api.patch(path, { data: '[]', revision: 9 })).expect(404);
  (await stranger.api.post(`${path}/duplicate`)).expect(404);
  (await stranger.api.delete(path)).expect(404);
  expect((await person.api.get(path)).expect(200).body.revision).toBe(1);
});

test('a creation that is repeated with its key is done once', async () => {
  const other = await berth.makeAccount();
  const headers = { 'idempotency-key': 'once' };
  const body = { name: 'once', data: JSON.stringify('x'.repeat(1_500_000)) };
  const [first, again] = [
    (await other.api.post('/nocode/projects', body, { headers })).expect(201),
    (await other.api.post('/nocode/projects', body, { headers })).expect(201),
  ];
  expect(again.text).toBe(first.text);
  (await other.api.post('/nocode/projects', { ...body, name: 'other' }, { headers })).expect(422);
  expect((await other.api.get('/nocode/quota')).expect(200).body.used).toBe(1);
});
