import { Readable } from 'node:stream';
import { ExecOutput, MAX_OUTPUT, type KeptOutput } from './exec-output.js';

async function kept(...chunks: Buffer[]): Promise<KeptOutput> {
  const output = new ExecOutput();
  await output.readFrom(Readable.from(chunks, { objectMode: false }));
  return output.kept();
}

test('what fits is kept as it is', async () => {
  expect(await kept(Buffer.from('schöne 🙂 '), Buffer.from('Zeile\n'))).toEqual({
    text: 'schöne 🙂 Zeile\n',
    bytes: 19,
    truncated: false,
  });
  const exact = await kept(Buffer.alloc(MAX_OUTPUT, 'a'));
  expect([exact.text.length, exact.bytes, exact.truncated]).toEqual([MAX_OUTPUT, MAX_OUTPUT, false]);
});

test.each([
  ['letters', Buffer.alloc(MAX_OUTPUT + 1, 'a'), MAX_OUTPUT],
  ['bytes that are no UTF-8', Buffer.alloc(MAX_OUTPUT, 0xff), MAX_OUTPUT - 1],
  ['some that are and some that are none', Buffer.alloc(MAX_OUTPUT, 'a\xff', 'latin1'), MAX_OUTPUT],
  ['a character across the end', Buffer.concat([Buffer.alloc(MAX_OUTPUT - 1, 'a'), Buffer.from('😀')]), MAX_OUTPUT - 1],
])('%s: no more is kept than fits once it is text, whole characters only', async (_name, bytes, expected) => {
  const { text, bytes: counted, truncated } = await kept(bytes);
  expect([Buffer.byteLength(text), counted, truncated]).toEqual([expected, expected, true]);
  expect(text.isWellFormed()).toBe(true);
});
