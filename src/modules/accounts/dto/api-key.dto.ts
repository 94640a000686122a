import { API_SCOPES, type ApiScope } from '../../../platform/auth/principal.js';
import { CustomField, StringField, type Judge } from '../../../platform/http/fields.js';
import { timeOf } from '../../../platform/http/moments.js';
import { ApiProperty } from '../../../platform/http/openapi-annotations.js';
import { isAddressOrRange } from '../api-key.js';

const MOMENT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/;
const MAX_ADDRESSES = 20;

const judgeScopes: Judge = (value) => {
  if (!Array.isArray(value)) return { code: 'type', detail: 'must be an array', meta: { expected: 'array' } };
  const fits = value.length > 0 && value.every((scope) => API_SCOPES.includes(scope as ApiScope));
  if (fits && new Set(value).size === value.length) return undefined;
  return { code: 'enum', detail: 'must hold read, write or both', meta: { allowed: API_SCOPES } };
};

const judgeAddresses: Judge = (value) => {
  if (!Array.isArray(value)) return { code: 'type', detail: 'must be an array', meta: { expected: 'array' } };
  if (value.length === 0 || value.length > MAX_ADDRESSES) {
    return { code: 'items', detail: `must hold 1 to ${MAX_ADDRESSES} entries`, meta: { limit: MAX_ADDRESSES } };
  }
  if (value.every((entry) => typeof entry === 'string' && isAddressOrRange(entry))) return undefined;
  return { code: 'address', detail: 'must hold IP addresses or ranges such as 192.0.2.0/24' };
};

const judgeExpiry: Judge = (value) => {
  const time = timeOf(value, MOMENT);
  if (Number.isNaN(time)) return { code: 'date', detail: 'must be a moment such as 2031-12-31T00:00:00Z' };
  return time > Date.now() ? undefined : { code: 'not_in_future', detail: 'must lie in the future' };
};

export class CreateApiKeyDto {
  @StringField({ min: 1, max: 64, noControl: true, optional: true, nullable: true })
  name?: string | null;

  @CustomField(
    judgeScopes,
    { type: 'array', items: { type: 'string', enum: [...API_SCOPES] }, minItems: 1, uniqueItems: true },
    { optional: true, description: 'Read only when absent.' },
  )
  scopes?: ApiScope[];

  @CustomField(judgeExpiry, { type: 'string', format: 'date-time' }, { optional: true, nullable: true })
  expiresAt?: string | null;

  @CustomField(
    judgeAddresses,
    { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: MAX_ADDRESSES },
    { optional: true, nullable: true, description: 'Addresses and ranges it may be used from; anywhere when absent.' },
  )
  allowedAddresses?: string[] | null;
}

export class ApiKeyDto {
  @ApiProperty({ example: 'key_01j9z6m3k4v5w6x7y8z9a0b1c2' })
  id!: string;

  @ApiProperty({ type: String, nullable: true })
  name!: string | null;

  @ApiProperty({ example: 'svc_1a2b3c4d' })
  prefix!: string;

  @ApiProperty({ enum: API_SCOPES, isArray: true })
  scopes!: ApiScope[];

  @ApiProperty({ type: Date, nullable: true })
  lastUsedAt!: Date | null;

  @ApiProperty({ type: Date, nullable: true })
  expiresAt!: Date | null;

  @ApiProperty({ type: Date, nullable: true })
  revokedAt!: Date | null;

  @ApiProperty()
  createdAt!: Date;
}

export class CreatedApiKeyDto extends ApiKeyDto {
  @ApiProperty({ description: 'The key itself; it is shown this once.' })
  key!: string;
}
