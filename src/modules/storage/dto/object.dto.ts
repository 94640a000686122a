import { CustomField, IntField, StringField } from '../../../platform/http/fields.js';
import { ApiProperty } from '../../../platform/http/openapi-annotations.js';
import { judgeKey, judgePrefix, MAX_KEY_BYTES } from '../objects/object-key.js';
import type { StoredObject } from '../objects/stored-object.entity.js';

export class KeyQuery {
  @CustomField(judgeKey, {
    type: 'string',
    minLength: 1,
    maxLength: MAX_KEY_BYTES,
    description: 'The key of the object: 1 to 1024 bytes of UTF-8, compared byte by byte',
  })
  key!: string;
}

export class ListObjectsQuery {
  @CustomField(
    judgePrefix,
    { type: 'string', maxLength: MAX_KEY_BYTES, description: 'Only keys that begin with it.' },
    { optional: true },
  )
  prefix?: string;

  @StringField({
    min: 1,
    max: 16,
    noControl: true,
    optional: true,
    description: 'Keys that hold it after the prefix are not listed but their beginnings up to it are, once each.',
  })
  delimiter?: string;

  @IntField({
    min: 1,
    max: 1000,
    optional: true,
    description: 'Objects and prefixes to answer at most (1000 when absent).',
  })
  limit: number = 1000;

  @StringField({ min: 1, max: 4096, optional: true, description: 'Where to go on: `nextCursor` of the page before.' })
  cursor?: string;
}

/** What a listing tells of an object. */
export class ObjectEntry {
  @ApiProperty()
  key!: string;

  @ApiProperty({ type: 'integer', description: 'Bytes' })
  size!: number;

  @ApiProperty()
  contentType!: string;

  @ApiProperty({ description: 'With its quotes, as the header of that name has it', example: `"${'0'.repeat(64)}"` })
  etag!: string;

  @ApiProperty({ format: 'date-time' })
  lastModified!: Date;
}

export class ObjectView extends ObjectEntry {
  @ApiProperty({ description: 'Of the content, in hexadecimal' })
  sha256!: string;
}

export class ObjectList {
  @ApiProperty({ type: [ObjectEntry], description: 'By the bytes of their keys' })
  objects!: ObjectEntry[];

  @ApiProperty({ type: [String], description: 'Beginnings that keys have in common, where a delimiter was given' })
  prefixes!: string[];

  @ApiProperty({ type: String, nullable: true, description: 'Null on the last page' })
  nextCursor!: string | null;
}

type Listed = Pick<StoredObject, 'key' | 'size' | 'contentType' | 'etag' | 'modifiedAt'>;

export function objectEntry({ key, size, contentType, etag, modifiedAt }: Listed): ObjectEntry {
  return { key: key.toString('utf8'), size, contentType, etag, lastModified: modifiedAt };
}

export function objectView(object: StoredObject): ObjectView {
  return { ...objectEntry(object), sha256: object.sha256 };
}
