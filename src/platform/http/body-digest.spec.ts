import { createHash, Hash } from 'node:crypto';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { fc } from '../../../test/support/fast-check.js';
import { bodyDigest, digestBody } from './body-digest.js';

function digest(contentType: string, body: Buffer, cuts: number[] = []): string {
  const request = new IncomingMessage(new Socket());
  request.headers = { 'content-type': contentType };
  digestBody(request);
  let start = 0;
  for (const cut of [...new Set(cuts)].sort((a, b) => a - b).filter((cut) => cut < body.length)) {
    request.push(body.subarray(start, cut));
    start = cut;
  }
  request.push(body.subarray(start));
  request.push(null);
  return bodyDigest(request);
}

const cuts = fc.array(fc.nat(200));

test('is the SHA-256 of the bytes, however they arrive', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), cuts, (bytes, at) => {
      const body = Buffer.from(bytes);
      expect(digest('application/json', body, at)).toBe(createHash('sha256').update(body).digest('hex'));
    }),
  );
});

test('the same parts in another boundary are the same multipart body, other parts are not', () => {
  const multipart = (boundary: string, content: string) =>
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="f"\r\n\r\n${content}\r\n--${boundary}--\r\n`);
  const type = (boundary: string) => `multipart/form-data; boundary=${boundary}`;
  fc.assert(
    fc.property(cuts, fc.string(), (at, content) => {
      const one = digest(type('----one-111'), multipart('----one-111', content), at);
      expect(digest(type('two_2'), multipart('two_2', content))).toBe(one);
      expect(digest(type('two_2'), multipart('two_2', `${content}!`))).not.toBe(one);
    }),
  );
});

test('where the text of the boundary stands counts, at the start of a line and elsewhere', () => {
  const of = (content: string) =>
    digest('multipart/form-data; boundary=b', Buffer.from(`--b\r\n\r\n${content}\r\n--b--`));
  const all = ['bx', 'xb', 'x', '\r\n--bx', 'x\r\n--b', '\r\n--x', 'x\r\n--', '--bx', '\r\n--b\r\n--bx'].map(of);
  expect(new Set(all).size).toBe(all.length);
});

test('a body of nothing but delimiters is hashed in a bounded number of pieces', () => {
  const update = jest.spyOn(Hash.prototype, 'update');
  const body = Buffer.from('\r\n--a'.repeat(50_000));
  for (const [boundary, most] of [
    ['a', 300],
    ['-', 10],
  ] as const) {
    update.mockClear();
    digest(`multipart/form-data; boundary=${boundary}`, body);
    expect(update.mock.calls.length).toBeLessThan(most);
  }
  update.mockRestore();
});
