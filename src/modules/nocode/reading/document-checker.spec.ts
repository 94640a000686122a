import { fc } from '../../../../test/support/fast-check.js';
import { DocumentChecker } from './document-checker.js';

/** Whether the checker takes the text, however it is cut up. */
function takes(text: string, cuts: number[] = []): boolean {
  const bytes = Buffer.from(text);
  const checker = new DocumentChecker();
  const bounds = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  try {
    for (let i = 1; i < bounds.length; i++) checker.write(bytes.subarray(bounds[i - 1], bounds[i]));
    checker.end();
    return true;
  } catch {
    return false;
  }
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const SAMPLES = [
  ...['', ' ', '{}', '[]', '{', '[', '}', ']', '[]]', '{}{}', '[1,]', '[,1]', '{,}', '{"a"}', '{"a":}', '{"a":1,}'],
  ...['{"a":1 "b":2}', '{a:1}', "{'a':1}", '{"a":[{"b":{}}]}', '[{]}', '{"a":1]', 'null', 'nul', 'nulll', 'true1'],
  ...[
    'tru',
    'True',
    'NaN',
    '-',
    '-0',
    '-01',
    '01',
    '0',
    '00',
    '1.',
    '.5',
    '1.5',
    '1.5.5',
    '1e',
    '1e+',
    '1e+5',
    '1E-05',
  ],
  ...['1e5.5', '+1', '0e0', '0.0e-0', '1 2', '"', '""', '"\\"', '"\\\\"', '"\\u"', '"\\u12g4"', '"\\u12345"', '"\\x"'],
  ...[
    '"\\ud800"',
    '"\t"',
    '"\u007f"',
    '"\u2028"',
    '\ufeff{}',
    '\u00a0{}',
    '\u000b1',
    '{"a":1}\n',
    '\r\n\t 1 \n',
    '/**/1',
  ],
  ...[
    '[1,2,3]',
    '["a","b"]',
    '{"a":1,"a":2}',
    '{"":0}',
    '{"a" : 1 , "b" : [ ] }',
    '[[[[]]]]',
    '[1,[2,[3]]]',
    '{"a":"}"}',
  ],
];

test.each(SAMPLES.map((text) => [JSON.stringify(text), text]))('%s is judged as a parser does', (_name, text) => {
  expect([takes(text), takes(text, [1]), takes(text, [1, 2, 3])]).toEqual(Array(3).fill(parses(text)));
});

test('what is JSON is taken, in pieces too', () => {
  const json = fc.json({ maxDepth: 5 });
  fc.assert(fc.property(json, fc.array(fc.nat(200), { maxLength: 5 }), (text, cuts) => takes(text, cuts)));
});

test('a parser and it agree on what was damaged', () => {
  const damaged = fc
    .tuple(fc.json({ maxDepth: 3 }), fc.nat(60), fc.constantFrom(...'{}[],:"\\0-.eEtfn \n\u0001é'.split(''), ''))
    .map(([text, at, put]) => text.slice(0, at) + put + text.slice(at + 1));
  const agree = (text: string, cut: number): boolean => takes(text, [cut]) === parses(text);
  fc.assert(fc.property(damaged, fc.nat(60), agree), { numRuns: 2000 });
});

test('it goes as deep as the document', () => {
  const deep = 200_000;
  expect(takes('['.repeat(deep) + ']'.repeat(deep))).toBe(true);
  expect(takes('['.repeat(deep) + ']'.repeat(deep - 1))).toBe(false);
});
