import { BoolField, CustomField, StringField, type Judge } from '../../../platform/http/fields.js';
import { DAY, timeOf } from '../../../platform/http/moments.js';
import { ApiProperty } from '../../../platform/http/openapi-annotations.js';
import { MAX_NOTE, MAX_VALUE_BYTES, SECRET_KEY } from '../vault-rules.js';

const judgeValue: Judge = (value) => {
  if (typeof value !== 'string') return { code: 'type', detail: 'must be text', meta: { expected: 'string' } };
  if (!value.isWellFormed()) return { code: 'malformed_text', detail: 'must be well-formed Unicode' };
  if (value.includes('\0')) return { code: 'control_character', detail: 'must not hold NUL' };
  if (Buffer.byteLength(value) <= MAX_VALUE_BYTES) return undefined;
  const meta = { limit: MAX_VALUE_BYTES };
  return { code: 'max_bytes', detail: `must not be longer than ${MAX_VALUE_BYTES} bytes`, meta };
};

const judgeDay: Judge = (value) => {
  if (typeof value !== 'string') return { code: 'type', detail: 'must be text', meta: { expected: 'string' } };
  return Number.isNaN(timeOf(value, DAY)) ? { code: 'date', detail: 'must be a date such as 2031-12-31' } : undefined;
};

export class PutSecretDto {
  @StringField({
    pattern: SECRET_KEY,
    patternHint: 'must be of upper-case letters, digits and underscores and not start with a digit',
    example: 'DATABASE_PASSWORD',
  })
  key!: string;

  @CustomField(judgeValue, { type: 'string', maxLength: MAX_VALUE_BYTES, description: 'At most 32 KiB of UTF-8' })
  value!: string;

  @BoolField({ optional: true, description: 'A sealed value is never shown again, by any route; true when absent' })
  sealed?: boolean;

  @StringField({ max: MAX_NOTE, optional: true, nullable: true, description: 'Stays as it was when absent' })
  note?: string | null;

  @CustomField(judgeDay, { type: 'string', format: 'date' }, { optional: true, nullable: true })
  expiresAt?: string | null;
}

export class SecretView {
  @ApiProperty()
  id!: string;

  @ApiProperty({ example: 'DATABASE_PASSWORD' })
  key!: string;

  @ApiProperty({ enum: ['container', 'account'], description: 'A secret of the container hides one of the account' })
  scope!: 'container' | 'account';

  @ApiProperty()
  sealed!: boolean;

  @ApiProperty({ type: String, nullable: true })
  note!: string | null;

  @ApiProperty({ description: 'Equal as long as the value is' })
  fingerprint!: string;

  @ApiProperty({ type: 'integer', description: 'Bytes' })
  size!: number;

  @ApiProperty({ type: 'integer' })
  version!: number;

  @ApiProperty({ type: String, format: 'date', nullable: true, description: 'It is served after that day too' })
  expiresAt!: string | null;

  @ApiProperty({ type: Date, nullable: true })
  lastReadAt!: Date | null;

  @ApiProperty({ format: 'date-time' })
  createdAt!: Date;

  @ApiProperty({ format: 'date-time' })
  updatedAt!: Date;
}

export class SecretValueView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  key!: string;

  @ApiProperty()
  value!: string;
}

export class MakeTokenDto {
  @BoolField({ optional: true, description: 'Whether it works from addresses of the platform only; true when absent' })
  addressLock?: boolean;
}

export class RuntimeTokenView {
  @ApiProperty({ description: 'Shown this once', example: `evt_${'0'.repeat(48)}` })
  token!: string;

  @ApiProperty()
  addressLock!: boolean;

  @ApiProperty({ format: 'date-time' })
  createdAt!: Date;
}

export class SecretReadView {
  @ApiProperty({ format: 'date-time' })
  at!: Date;

  @ApiProperty({ enum: ['broker', 'token', 'panel'] })
  via!: 'broker' | 'token' | 'panel';

  @ApiProperty()
  address!: string;

  @ApiProperty({ type: [String], description: 'Names of the secrets that were served' })
  keys!: string[];

  @ApiProperty()
  refused!: boolean;

  @ApiProperty({ type: String, nullable: true, description: 'Why it was refused' })
  reason!: string | null;
}
