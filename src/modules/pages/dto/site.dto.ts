import { BoolField, CustomField, StringField, type Judge } from '../../../platform/http/fields.js';
import { ApiProperty } from '../../../platform/http/openapi-annotations.js';
import type { TlsStatus } from '../sites/site.entity.js';
import { DeploymentView } from './deployment.dto.js';

const NAME = { min: 1, max: 64, noControl: true } as const;

const MAX_DOMAIN = 255;

/** Whether it is text at all; what text is a domain that a site may have, its service says. */
const judgeDomain: Judge = (value) => {
  if (typeof value !== 'string') return { code: 'type', detail: 'must be text', meta: { expected: 'string' } };
  if (!value.isWellFormed()) return { code: 'malformed_text', detail: 'must be well-formed Unicode' };
  if (value.length <= MAX_DOMAIN) return undefined;
  return {
    code: 'max_length',
    detail: `must not have more than ${MAX_DOMAIN} characters`,
    meta: { limit: MAX_DOMAIN },
  };
};

export class CreateSiteDto {
  @StringField(NAME)
  name!: string;

  @CustomField(
    judgeDomain,
    { type: 'string', format: 'hostname' },
    {
      description: 'Must point to the platform already, with all its addresses. Unicode is turned into ASCII.',
      example: 'www.example.com',
    },
  )
  domain!: string;

  @BoolField({
    optional: true,
    description: 'Whether addresses without a file are answered with the home page (false when absent).',
  })
  spa?: boolean;
}

export class UpdateSiteDto {
  @StringField({ ...NAME, optional: true })
  name?: string;

  @BoolField({ optional: true })
  spa?: boolean;

  @BoolField({ optional: true, description: 'An inactive site is not served. Takes effect before the answer.' })
  active?: boolean;
}

export class TlsView {
  @ApiProperty({ enum: ['pending', 'active', 'failed'] })
  status!: TlsStatus;

  @ApiProperty({ type: String, nullable: true, description: 'Who issued the certificate' })
  issuer!: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'When the certificate ends' })
  notAfter!: Date | null;

  @ApiProperty({ type: String, nullable: true, description: 'Why there is no certificate' })
  error!: string | null;
}

export class VerificationView {
  @ApiProperty({ description: 'Name of the TXT record that proves the domain to be yours' })
  name!: string;

  @ApiProperty({ description: 'What it has to say' })
  value!: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'When it was last seen there' })
  verifiedAt!: Date | null;
}

export class SiteView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  name!: string;

  @ApiProperty({ description: 'In ASCII and lower case' })
  domain!: string;

  @ApiProperty()
  spa!: boolean;

  @ApiProperty()
  active!: boolean;

  @ApiProperty({ format: 'uri' })
  url!: string;

  @ApiProperty({ type: TlsView })
  tls!: TlsView;

  @ApiProperty({
    type: VerificationView,
    description: 'Optional: keeps the domain and all below it from others, also for a while after the site is deleted.',
  })
  verification!: VerificationView;

  @ApiProperty({ type: DeploymentView, nullable: true })
  currentDeployment!: DeploymentView | null;

  @ApiProperty({ format: 'date-time' })
  createdAt!: Date;

  @ApiProperty({ format: 'date-time' })
  updatedAt!: Date;
}
