import type { Request, Response } from 'express';
import { decodeCursor, encodeCursor, linkNextPage, Page } from './page.js';

function linkOf(url: string, page: Page<unknown>): string | undefined {
  const headers = new Map<string, string>();
  linkNextPage(
    { originalUrl: url } as Request,
    { setHeader: (name: string, value: string) => headers.set(name, value) } as unknown as Response,
    page,
  );
  return headers.get('Link');
}

test('the link keeps the other parameters and replaces the cursor', () => {
  expect(linkOf('/api/v1/x?limit=2&cursor=old&host=a%26b', new Page([1], 'n'))).toBe(
    '</api/v1/x?limit=2&cursor=n&host=a%26b>; rel="next"',
  );
  expect(linkOf('/api/v1/x?limit=1&x=a?b%26c', new Page([1], 'n'))).toBe(
    '</api/v1/x?limit=1&x=a%3Fb%26c&cursor=n>; rel="next"',
  );
  expect(linkOf('/api/v1/x??y=1?', new Page([1], 'n'))).toBe('</api/v1/x?%3Fy=1%3F&cursor=n>; rel="next"');
  expect(linkOf('/api/v1/x?', new Page([1], 'n'))).toBe('</api/v1/x?cursor=n>; rel="next"');
  expect(linkOf('/api/v1/x', new Page([1], 'n'))).toBe('</api/v1/x?cursor=n>; rel="next"');
  expect(linkOf('/api/v1/x', new Page([1], null))).toBeUndefined();
});

test('a page is cut where there is one row more than it holds', () => {
  const rows = [{ id: 'c' }, { id: 'b' }, { id: 'a' }];
  const page = Page.of(rows, 2, ({ id }) => [id]);
  expect(page.items).toEqual([{ id: 'c' }, { id: 'b' }]);
  expect(decodeCursor(page.nextCursor!, ['string'])).toEqual(['b']);
  expect(Page.of(rows, 3, ({ id }) => [id]).nextCursor).toBeNull();
});

test.each(['', 'x', '!!!!', encodeCursor([1]), encodeCursor(['a', 'b']), Buffer.from('{}').toString('base64url')])(
  'the cursor %j is refused',
  (cursor) => {
    expect(() => decodeCursor(cursor, ['string'])).toThrow(expect.objectContaining({ kind: 'bad_request' }));
  },
);

test('a cursor over ids holds ids only: the database cannot compare them with any text', () => {
  const id = 'srv_01j9z6m3k4v5w6x7y8z9a0b1c2';
  expect(decodeCursor(encodeCursor([id]), ['id'])).toEqual([id]);
  for (const other of ['é', '', 'srv_', `${id}0`, `${id}\n`, 1, null]) {
    expect(() => decodeCursor(encodeCursor([other as string]), ['id'])).toThrow(
      expect.objectContaining({ kind: 'bad_request' }),
    );
  }
});
