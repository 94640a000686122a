import { parseJsonObject } from './body.js';

const parse = (text: string | Buffer) => parseJsonObject(Buffer.from(text));
const nested = (levels: number) => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels);

test.each<[string, string | Buffer, string]>([
  ['no JSON', '{', 'malformed_json'],
  ['something after it', '{} {}', 'malformed_json'],
  ['a comment', '{/**/}', 'malformed_json'],
  ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), 'malformed_json'],
  ['another encoding', Buffer.from('{"a":1}', 'utf16le'), 'malformed_json'],
  ['an array', '[]', 'body_not_object'],
  ['null', 'null', 'body_not_object'],
  ['a string', '"x"', 'body_not_object'],
  ['a number', '1', 'body_not_object'],
  ['__proto__', '{"__proto__":{"admin":true}}', 'forbidden_key'],
  ['__proto__ inside', '{"a":[{"b":{"__proto__":1}}]}', 'forbidden_key'],
  ['__proto__ in disguise', '{"\\u005f_proto_\\u005F":1}', 'forbidden_key'],
  ['too many levels', nested(65), 'body_too_deep'],
  [
    'too many fields',
    JSON.stringify(Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`k${i}`, 0]))),
    'too_many_values',
  ],
  ['too many entries', JSON.stringify({ a: [Array(600).fill(0), Array(600).fill({})] }), 'too_many_values'],
  ['levels without end', '['.repeat(1_000_000), 'body_too_deep'],
])('%s is refused', (_, text, code) => {
  expect(() => parse(text)).toThrow(expect.objectContaining({ kind: 'bad_request', code }));
});

test.each<[string, object]>([
  ['{}', {}],
  ['\ufeff{"a":1}', { a: 1 }],
  ['{"a":"__proto__"}', { a: '__proto__' }],
  ['{"a":"\\u00e9"}', { a: 'é' }],
  [`{"a":"${'['.repeat(500)}\\"${'{'.repeat(500)}\\\\"}`, { a: `${'['.repeat(500)}"${'{'.repeat(500)}\\` }],
])('%s is read', (text, value) => {
  expect(parse(text)).toEqual(value);
});

test('a thousand values are read, and any number of commas in a text', () => {
  const list = { a: Array(999).fill(0), b: ','.repeat(5000) };
  expect(parse(JSON.stringify(list))).toEqual(list);
});

test('64 levels are read', () => {
  expect(JSON.stringify(parse(nested(64)))).toBe(nested(64));
});
