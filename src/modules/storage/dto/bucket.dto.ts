import { BoolField, StringField } from '../../../platform/http/fields.js';
import { ApiProperty } from '../../../platform/http/openapi-annotations.js';
import type { Bucket } from '../buckets/bucket.entity.js';

export class CreateBucketDto {
  @StringField({
    min: 3,
    max: 63,
    pattern: /^[a-z0-9.-]+$/,
    patternHint: 'must be of a-z, 0-9, dots and hyphens',
    description: 'Unique among the buckets of the account',
  })
  name!: string;

  @BoolField({ optional: true, description: 'Whether anybody may read its objects (false when absent).' })
  isPublic?: boolean;
}

export class UpdateBucketDto {
  @BoolField({ description: 'Takes effect at once; what others have kept of answers lives 60 seconds at most.' })
  isPublic!: boolean;
}

export class BucketView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  name!: string;

  @ApiProperty()
  isPublic!: boolean;

  @ApiProperty({ type: String, nullable: true, description: 'What keys are put after to be read by anybody' })
  publicUrl!: string | null;

  @ApiProperty({ type: 'integer' })
  objects!: number;

  @ApiProperty({ type: 'integer', description: 'Bytes' })
  usedBytes!: number;

  @ApiProperty({ format: 'date-time' })
  createdAt!: Date;

  @ApiProperty({ format: 'date-time' })
  updatedAt!: Date;
}

export class StorageSummary {
  @ApiProperty({ type: 'integer', description: 'Bytes in all buckets together' })
  usedBytes!: number;

  @ApiProperty({ type: 'integer', description: 'Bytes that the plan allows' })
  limitBytes!: number;

  @ApiProperty({ type: 'integer' })
  objects!: number;

  @ApiProperty({ type: 'integer' })
  buckets!: number;
}

/** `cdnUrl` is the origin of public objects. */
export function bucketView(bucket: Bucket, cdnUrl: string): BucketView {
  const { id, name, isPublic, objects, usedBytes, createdAt, updatedAt } = bucket;
  const publicUrl = isPublic ? `${cdnUrl}/storage/public/${id}/` : null;
  return { id, name: name!, isPublic, publicUrl, objects, usedBytes, createdAt, updatedAt };
}
