import { Readable } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import { fc } from '../../../../test/support/fast-check.js';
import { DomainError } from '../../../platform/errors/domain-error.js';
import { MAX_DOCUMENT_BYTES } from '../dto/project.dto.js';
import { readProjectBody, type ProjectBody } from './project-body.js';

/** A request with this body in pieces of `size`; `taken` counts what was asked for. */
function requestOf(body: Buffer, size = body.length || 1): IncomingMessage & { taken: number } {
  const counter = { headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }, taken: 0 };
  const pieces = function* (): Generator<Buffer> {
    for (let at = 0; at < body.length; at += size) {
      request.taken += size;
      yield body.subarray(at, at + size);
    }
  };
  const stream: object = Readable.from(pieces(), { objectMode: true, highWaterMark: 1 });
  const request = Object.assign(stream as IncomingMessage, counter);
  return request;
}

const read = (body: Buffer | string, size?: number): Promise<ProjectBody> =>
  readProjectBody(requestOf(Buffer.from(body), size));

const textOf = (document: ProjectBody['document']): unknown => document && JSON.parse(document.literal.toString());

async function refusal(body: Buffer | string, size?: number): Promise<DomainError> {
  const error: unknown = await read(body, size).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof DomainError)) throw new Error('it was not refused');
  return error;
}

test('a document comes out as it went in, however the body is spelled and cut', async () => {
  const spelled = (text: string, all: boolean): string =>
    all
      ? `"${[...Array(text.length).keys()].map((i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')}"`
      : JSON.stringify(text);
  const whole = fc.fullUnicodeString().filter((text) => text.isWellFormed());
  await fc.assert(
    fc.asyncProperty(whole, whole, fc.boolean(), fc.integer({ min: 1, max: 50 }), async (inner, name, all, size) => {
      const data = JSON.stringify({ [inner]: [inner, 1, null] }, null, 1);
      const body = `{ "name" : ${JSON.stringify(name)}, "da\\u0074a":${spelled(data, all)} , "revision":3}`;
      const { fields, document } = await read(body, size);
      expect([textOf(document), document!.bytes]).toEqual([data, Buffer.byteLength(data)]);
      expect(fields).toEqual({ name, data: '', revision: 3 });
    }),
  );
});

test.each<[string, string, Record<string, unknown>, string | undefined]>([
  ['if it is no text, there is no document', '{"data":5}', { data: 5 }, undefined],
  ['a field inside another is not it', '{"name":{"data":"no json"}}', { name: { data: 'no json' } }, undefined],
  ['nor is a key that begins alike', '{"data2":"no json","dat":"x"}', { data2: 'no json', dat: 'x' }, undefined],
  [
    'a value that is called so is not it',
    '{"name":"data","revision":"data"}',
    { name: 'data', revision: 'data' },
    undefined,
  ],
  ['nothing', '', {}, undefined],
])('%s', async (_why, body, fields, document) => {
  for (const size of [1, 3, 1000]) {
    const got = await read(body, size);
    expect([got.fields, textOf(got.document)]).toEqual([fields, document]);
  }
});

test.each([
  ['{"data":"{}"', 'malformed_json'],
  ['{"data":"{}', 'malformed_json'],
  ['{"data":"{}" 1}', 'malformed_json'],
  ['{"data":"{}""{}"}', 'malformed_json'],
  ['{"data":"{}\\x"}', 'malformed_json'],
  ['{"data":"{}\n"}', 'malformed_json'],
  ['{"data":"\\"\\ud800\\""}', 'validation_failed'],
  ['{"data":"\\"\\udc00\\""}', 'validation_failed'],
  ['{"data":"\\"\\ud800\\ud800\\""}', 'validation_failed'],
  ['{"data":"{"}', 'validation_failed'],
  ['{"data":""}', 'validation_failed'],
  ['{"data":"[1]","data":"[2]"}', 'validation_failed'],
  ['{"data":5,"d\\u0061ta":"[2]"}', 'validation_failed'],
  ['["data","{}"]', 'body_not_object'],
  ['{"__proto__":1,"data":"{}"}', 'forbidden_key'],
])('%s is %s', async (body, code) => {
  for (const size of [1, 1000]) expect((await refusal(body, size)).code).toBe(code);
});

test('a document spelled out at length is kept in short', async () => {
  const { document } = await read(`{"data":"\\u0022${'\\u0061'.repeat(1000)}\\u0022"}`);
  expect(document).toEqual({ bytes: 1002, literal: Buffer.from(JSON.stringify(`"${'a'.repeat(1000)}"`)) });
});

test('text that is no UTF-8 is refused', async () => {
  const body = Buffer.concat([Buffer.from('{"data":"\\"'), Buffer.from([0xc3, 0x28]), Buffer.from('\\""}')]);
  expect((await refusal(body)).code).toBe('malformed_json');
});

test('the largest document passes, and one byte more does not', async () => {
  const of = (bytes: number): string => JSON.stringify({ data: JSON.stringify('x'.repeat(bytes - 2)) });
  expect((await read(of(MAX_DOCUMENT_BYTES), 65_536)).document!.bytes).toBe(MAX_DOCUMENT_BYTES);
  expect((await refusal(of(MAX_DOCUMENT_BYTES + 1), 65_536)).code).toBe('document_too_large');
});

test.each([
  ['too large', 'x'.repeat(100 * 1_048_576), 'document_too_large', MAX_DOCUMENT_BYTES],
  ['no JSON', `}${'x'.repeat(10 * 1_048_576)}`, 'validation_failed', 0],
  ['given twice', `\\""${',"data":"'.repeat(100_000)}`, 'validation_failed', 0],
])('of one that is %s no more is read', async (_why, data, code, needed) => {
  const request = requestOf(Buffer.from(`{"data":"\\"${data}\\""}`.replace('\\"}', '}')), 65_536);
  await expect(readProjectBody(request)).rejects.toMatchObject({ code });
  expect(request.taken).toBeLessThan(needed + 8 * 65_536);
});
