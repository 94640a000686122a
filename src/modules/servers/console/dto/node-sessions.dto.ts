import {
  CustomField,
  EnumField,
  IdField,
  IntField,
  ListField,
  ObjectField,
  StringField,
  type Judge,
} from '../../../../platform/http/fields.js';
import { POWER_SIGNALS, type PowerSignal } from '../../server-status.js';

const MAX_PROPERTIES_BYTES = 32_768;

/** A service, or something else that has a console. */
const HolderField = () => StringField({ max: 30, pattern: /^[a-z]{3}_[0-9a-z]{26}$/ });

const judgeProperties: Judge = (value) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { code: 'type', detail: 'must be an object', meta: { expected: 'object' } };
  }
  if (Buffer.byteLength(JSON.stringify(value)) <= MAX_PROPERTIES_BYTES) return undefined;
  return { code: 'max_bytes', detail: `must not be longer than ${MAX_PROPERTIES_BYTES} bytes` };
};

export class LiveSessionDto {
  @StringField({ min: 1, max: 64 })
  id!: string;

  @EnumField(['console', 'sftp'])
  kind!: 'console' | 'sftp';

  @HolderField()
  serverId!: string;

  @IdField('usr')
  accountId!: string;

  @IdField('key', { nullable: true })
  keyId!: string | null;

  @IntField({ min: 0, max: 2 ** 31, optional: true })
  sessionGeneration?: number;

  @IntField({ min: 0, max: 2 ** 31, optional: true })
  credentialVersion?: number;

  @StringField({ max: 32 })
  issuedAt!: string;
}

export class LiveSessionsDto {
  @ListField(() => LiveSessionDto, { max: 10_000 })
  sessions!: LiveSessionDto[];
}

export class NodeActorDto {
  @EnumField(['key', 'session', 'sftp', 'system'])
  type!: 'key' | 'session' | 'sftp' | 'system';

  @StringField({ max: 30, pattern: /^[a-z]{2,4}_[0-9a-z]{26}$/, nullable: true })
  id!: string | null;
}

export class NodeActivityEntryDto {
  @StringField({ max: 64, pattern: /^(server|lxc):(console|sftp|file)\.[a-z-]+$/ })
  event!: string;

  @CustomField(judgeProperties, { type: 'object' })
  properties!: Record<string, unknown>;

  @StringField({ max: 45, nullable: true })
  ip!: string | null;

  @ObjectField(() => NodeActorDto)
  actor!: NodeActorDto;
}

export class NodeActivityDto {
  @HolderField()
  serverId!: string;

  @ListField(() => NodeActivityEntryDto, { max: 1000 })
  entries!: NodeActivityEntryDto[];
}

export class PowerActorDto {
  @EnumField(['key', 'session'])
  type!: 'key' | 'session';

  @IdField('key', { nullable: true })
  id!: string | null;
}

export class NodePowerDto {
  @EnumField(POWER_SIGNALS)
  signal!: PowerSignal;

  @IdField('usr')
  accountId!: string;

  @StringField({ max: 45 })
  ip!: string;

  @ObjectField(() => PowerActorDto)
  actor!: PowerActorDto;

  @IntField({ min: 0, max: 2 ** 31, optional: true })
  sessionGeneration?: number;
}
