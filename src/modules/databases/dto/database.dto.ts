import { StringField } from '../../../platform/http/fields.js';
import { ApiProperty, ApiPropertyOptional } from '../../../platform/http/openapi-annotations.js';
import { namesOf } from '../database-names.js';
import { DATABASE_STATUSES, type DatabaseStatus } from '../database-status.js';
import type { PlacedDatabase } from '../database.repository.js';

/** UTF-8 bytes of `sql`; beyond them the answer is 413. */
export const MAX_QUERY_BYTES = 1_048_576;
export const MAX_IMPORT_BYTES = 8_388_608;
/** Characters of `sql` may take up several bytes of JSON each. */
export const MAX_QUERY_BODY = 6 * MAX_QUERY_BYTES + 1024;
export const MAX_IMPORT_BODY = 3 * MAX_IMPORT_BYTES;

export class QueryDto {
  @StringField({ description: `One statement, at most ${MAX_QUERY_BYTES} bytes of UTF-8` })
  sql!: string;
}

export class ImportDto {
  @StringField({ description: `Text of a dump, at most ${MAX_IMPORT_BYTES} bytes of UTF-8` })
  sql!: string;
}

export class DatabaseView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  name!: string;

  @ApiProperty()
  serverId!: string;

  @ApiProperty({ description: 'Where the service reaches it' })
  host!: string;

  @ApiProperty({ type: 'integer' })
  port!: number;

  @ApiProperty({ enum: DATABASE_STATUSES })
  status!: DatabaseStatus;

  @ApiProperty({ type: 'integer', description: 'On disk, measured once a minute' })
  sizeBytes!: number;

  @ApiProperty({ format: 'date-time' })
  createdAt!: Date;
}

export class DbConnectionView {
  @ApiProperty()
  host!: string;

  @ApiProperty({ type: 'integer' })
  port!: number;

  @ApiProperty()
  database!: string;

  @ApiProperty()
  username!: string;

  @ApiProperty()
  password!: string;

  @ApiProperty({ example: 'mysql://user:password@10.0.0.1:3306/database' })
  uri!: string;
}

export const TABLE_TYPES = ['table', 'view', 'sequence'] as const;

export class TableView {
  @ApiProperty()
  name!: string;

  @ApiProperty({ enum: TABLE_TYPES })
  type!: (typeof TABLE_TYPES)[number];

  @ApiProperty({ type: String, nullable: true })
  engine!: string | null;

  @ApiProperty({ type: 'integer', nullable: true, description: 'As the storage engine estimates them' })
  rows!: number | null;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Data and indexes' })
  bytes!: number | null;
}

export class ColumnView {
  @ApiProperty()
  name!: string;

  @ApiProperty({ example: 'BIGINT' })
  type!: string;
}

const CELL = { oneOf: [{ type: 'string' }, { type: 'number' }, { type: 'null' }] };

export class ResultSetView {
  @ApiProperty({ type: [ColumnView] })
  columns!: ColumnView[];

  @ApiProperty({
    type: 'array',
    items: { type: 'array', items: CELL },
    description: 'BIGINT, DECIMAL, JSON and dates as text, binary values in base64',
  })
  rows!: (string | number | null)[][];

  @ApiProperty({ type: 'integer', description: 'Rows in this answer' })
  rowCount!: number;

  @ApiProperty({ description: 'Whether rows were left out' })
  truncated!: boolean;
}

export class QueryResult extends ResultSetView {
  @ApiProperty({ type: 'integer' })
  affectedRows!: number;

  @ApiProperty({ oneOf: [{ type: 'integer' }, { type: 'string' }, { type: 'null' }] })
  insertId!: number | string | null;

  @ApiProperty({ type: 'integer' })
  durationMs!: number;

  @ApiPropertyOptional({
    type: 'array',
    items: { $ref: `#/components/schemas/${ResultSetView.name}` },
    description: 'All results of a CALL, the first one included; at most 5',
  })
  resultSets?: ResultSetView[];
}

export class ImportResult {
  @ApiProperty({ type: 'integer', description: 'Statements that were run' })
  statements!: number;

  @ApiProperty({ type: 'integer' })
  affectedRows!: number;

  @ApiProperty({ type: 'integer' })
  durationMs!: number;
}

export function databaseView({ database, host }: PlacedDatabase): DatabaseView {
  const { id, serverId, status, sizeBytes, createdAt } = database;
  const { serviceAddress, servicePort } = host;
  return {
    id,
    name: namesOf(id).schema,
    serverId,
    host: serviceAddress,
    port: servicePort,
    status,
    sizeBytes,
    createdAt,
  };
}
