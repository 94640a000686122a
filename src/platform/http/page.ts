import type { Request, Response } from 'express';
import { badField } from '../errors/domain-error.js';
import { IntField, StringField } from './fields.js';

/** `?limit=&cursor=` of a list. */
export class PageQuery {
  @IntField({ min: 1, max: 1000, optional: true, description: 'Entries to answer at most (100 when absent).' })
  limit: number = 100;

  @StringField({
    min: 1,
    max: 512,
    optional: true,
    description: 'Where to go on: from the Link header of the page before.',
  })
  cursor?: string;
}

/** A list's page as a handler returns it. It is sent as the plain array, with a `Link` to the next page if there is one. */
export class Page<T> {
  constructor(
    readonly items: T[],
    readonly nextCursor: string | null,
  ) {}

  /**
   * Cuts a page out of rows that were read one beyond `limit`; `position` are the values that the order goes by, of the
   * page's last row.
   */
  static of<R>(rows: R[], limit: number, position: (row: R) => CursorValue[]): Page<R> {
    const items = rows.slice(0, limit);
    return new Page(items, rows.length > limit ? encodeCursor(position(items.at(-1)!)) : null);
  }

  map<U>(convert: (item: T) => U): Page<U> {
    return new Page(this.items.map(convert), this.nextCursor);
  }

  toJSON(): T[] {
    return this.items;
  }
}

export type CursorValue = string | number;

/** Packs the position after which a list goes on. Opaque to callers. */
export function encodeCursor(position: CursorValue[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

const ID = /^[a-z]{2,4}_[0-9a-z]{26}$/;

const FITS = {
  string: (value: unknown) => typeof value === 'string',
  number: (value: unknown) => typeof value === 'number',
  // Columns of ids are ASCII: compared with anything else the database gives up.
  id: (value: unknown) => typeof value === 'string' && ID.test(value),
};

/** Unpacks a cursor whose values must be of the given kinds; anything else is a 400. */
export function decodeCursor(cursor: string, kinds: (keyof typeof FITS)[]): CursorValue[] {
  let position: unknown;
  try {
    position = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    throw invalidCursor();
  }
  const fits =
    Array.isArray(position) &&
    position.length === kinds.length &&
    kinds.every((kind, index) => FITS[kind]((position as unknown[])[index]));
  if (!fits) throw invalidCursor();
  return position as CursorValue[];
}

function invalidCursor(): Error {
  return badField('cursor', 'invalid_cursor', 'cursor is not one that this list gave.');
}

/** Sets the `Link` header of a page: the same request, other query parameters included, from the next cursor on. */
export function linkNextPage(request: Request, response: Response, page: Page<unknown>): void {
  if (page.nextCursor === null) return;
  const url = request.originalUrl;
  // Only the first question mark ends the path; those after it are part of the query.
  const end = url.includes('?') ? url.indexOf('?') : url.length;
  const parameters = new URLSearchParams(url.slice(end));
  parameters.set('cursor', page.nextCursor);
  response.setHeader('Link', `<${url.slice(0, end)}?${parameters.toString()}>; rel="next"`);
}
