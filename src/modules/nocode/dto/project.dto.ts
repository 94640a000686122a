import { IntField, StringField } from '../../../platform/http/fields.js';
import { ApiProperty } from '../../../platform/http/openapi-annotations.js';
import type { NocodeProject } from '../project.entity.js';

/** UTF-8 bytes of a document; beyond them the answer is 413. */
export const MAX_DOCUMENT_BYTES = 2 * 1_048_576;
/** Of a document as a JSON string, in which at most every byte is escaped by another. */
export const MAX_LITERAL_BYTES = 2 * MAX_DOCUMENT_BYTES + 2;
/** Each byte of a document may be spelled as six, beside the other fields. */
export const MAX_PROJECT_BODY = 6 * MAX_DOCUMENT_BYTES + 1_048_576;

const NAME = { min: 1, max: 100, noControl: true };
const DATA = { description: `JSON text, kept byte for byte; at most ${MAX_DOCUMENT_BYTES} bytes of UTF-8` };

export class CreateProjectDto {
  @StringField(NAME)
  name!: string;

  @StringField(DATA)
  data!: string;
}

export class SaveProjectDto {
  @StringField({ ...NAME, optional: true })
  name?: string;

  @StringField({ ...DATA, optional: true })
  data?: string;

  @IntField({
    min: 1,
    max: 2_147_483_647,
    optional: true,
    description: 'The revision that was loaded: the save is refused with 409 when the project is at another one.',
  })
  revision?: number;
}

export class ProjectQuota {
  @ApiProperty({ type: 'integer' })
  allowed!: number;

  @ApiProperty({ type: 'integer' })
  used!: number;

  @ApiProperty()
  canCreate!: boolean;
}

/** A project without its document. */
export class ProjectView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  name!: string;

  @ApiProperty({ type: 'integer', description: 'Each save adds 1' })
  revision!: number;

  @ApiProperty({ type: 'integer', description: 'UTF-8 bytes of the document' })
  bytes!: number;

  @ApiProperty({ format: 'date-time' })
  createdAt!: Date;

  @ApiProperty({ format: 'date-time' })
  updatedAt!: Date;
}

export class ProjectDetail extends ProjectView {
  @ApiProperty({ description: 'The document, JSON text as it was saved' })
  data!: string;
}

export function projectView(project: Omit<NocodeProject, 'document' | 'accountId'>): ProjectView {
  const { id, name, revision, bytes, createdAt, updatedAt } = project;
  return { id, name, revision, bytes, createdAt, updatedAt };
}
