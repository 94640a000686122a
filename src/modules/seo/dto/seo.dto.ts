import { CustomField, IntField, StringField, type Fault } from '../../../platform/http/fields.js';
import { MAX_URL_LENGTH } from '../../../platform/network/url-length.js';
import { ApiProperty } from '../../../platform/http/openapi-annotations.js';
import { PageQuery } from '../../../platform/http/page.js';

export const MOST_AUDIT_PAGES = 8;
export const MOST_SCAN_PAGES = 20;

function judgeUrl(value: unknown): Fault | undefined {
  if (typeof value !== 'string') return { code: 'type', detail: 'must be text', meta: { expected: 'string' } };
  if (!value.isWellFormed()) return { code: 'malformed_text', detail: 'must be well-formed Unicode' };
  if (value.length > MAX_URL_LENGTH) {
    return {
      code: 'max_length',
      detail: `must not have more than ${MAX_URL_LENGTH} characters`,
      meta: { limit: MAX_URL_LENGTH },
    };
  }
  if (!URL.canParse(value)) return { code: 'url', detail: 'must be an address such as https://example.com/' };
  if (new URL(value).href.length <= MAX_URL_LENGTH) return undefined;
  return { code: 'max_length', detail: 'is too long once encoded', meta: { limit: MAX_URL_LENGTH } };
}

export class ScanDto {
  @CustomField(judgeUrl, {
    type: 'string',
    format: 'uri',
    description: `At most ${MAX_URL_LENGTH} characters once encoded`,
    example: 'https://example.com/',
  })
  url!: string;

  @IntField({ min: 1, max: MOST_SCAN_PAGES, optional: true, description: 'Pages of the site at most (1 when absent)' })
  pages?: number;
}

export class AuditQuery {
  @StringField({ min: 1, max: 64, description: 'Of one of the caller’s own domains' })
  id!: string;

  @IntField({ min: 1, max: MOST_AUDIT_PAGES, optional: true, description: 'Pages of the site at most (1 when absent)' })
  pages: number = 1;
}

const HOST = { min: 1, max: 255, description: 'With its port where that is not the usual one' };

export class ScansQuery extends PageQuery {
  @StringField({ ...HOST, optional: true })
  host?: string;
}

export class HistoryQuery {
  @StringField(HOST)
  host!: string;

  @IntField({ min: 1, max: 1000, optional: true, description: 'The newest so many (1000 when absent)' })
  limit: number = 1000;
}

export class SeoQuota {
  @ApiProperty({ type: 'integer', description: 'Scans of foreign sites in any 30 days' })
  allowed!: number;

  @ApiProperty({ type: 'integer' })
  used!: number;

  @ApiProperty({ type: 'integer' })
  remaining!: number;
}

export class OwnDomainView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  domain!: string;

  @ApiProperty()
  siteId!: string;
}

const SCORE = { type: 'integer', minimum: 0, maximum: 100 } as const;

export class FindingView {
  @ApiProperty({ description: 'A tag, a header or a line' })
  element!: string;

  @ApiProperty()
  reason!: string;

  @ApiProperty()
  fix!: string;
}

export class SiteFindingView extends FindingView {
  @ApiProperty({ description: 'Address of the page' })
  page!: string;
}

export class AuditView {
  @ApiProperty({ description: 'As Lighthouse calls it' })
  id!: string;

  @ApiProperty({ oneOf: [{ type: 'integer', enum: [0, 1] }, { type: 'null' }], description: 'null: does not apply' })
  score!: number | null;

  @ApiProperty()
  weight!: number;

  @ApiProperty()
  title!: string;

  @ApiProperty({ type: [FindingView] })
  findings!: FindingView[];
}

export class PageReportView {
  @ApiProperty()
  url!: string;

  @ApiProperty({ type: 'integer', description: 'Of its HTTP answer' })
  status!: number;

  @ApiProperty()
  title!: string;

  @ApiProperty(SCORE)
  score!: number;

  @ApiProperty({ type: 'integer', description: 'Of its HTML' })
  bytes!: number;

  @ApiProperty({ type: 'integer' })
  ms!: number;

  @ApiProperty({ description: 'Whether it was judged by its beginning, being too large' })
  truncated!: boolean;

  @ApiProperty({ type: [AuditView] })
  audits!: AuditView[];
}

export class SiteRuleView {
  @ApiProperty()
  id!: string;

  @ApiProperty({ enum: ['error', 'warning', 'notice'] })
  severity!: string;

  @ApiProperty()
  title!: string;

  @ApiProperty({ type: [SiteFindingView] })
  findings!: SiteFindingView[];
}

class ReportHead {
  @ApiProperty()
  url!: string;

  @ApiProperty()
  host!: string;

  @ApiProperty({ format: 'date-time' })
  createdAt!: Date;

  @ApiProperty({ type: 'integer' })
  durationMs!: number;

  @ApiProperty({ ...SCORE, description: 'Mean of the pages, each scored as Lighthouse does' })
  score!: number;

  @ApiProperty({ ...SCORE, description: 'By the rules about the site' })
  siteScore!: number;
}

export class ScanView extends ReportHead {
  @ApiProperty()
  id!: string;

  @ApiProperty({ type: 'integer', description: 'How many were judged' })
  pageCount!: number;
}

class ReportBody extends ReportHead {
  @ApiProperty({ type: [PageReportView] })
  pages!: PageReportView[];

  @ApiProperty({ type: [SiteRuleView] })
  site!: SiteRuleView[];
}

export class ReportView extends ReportBody {
  @ApiProperty()
  id!: string;
}

export class AuditReportView extends ReportBody {
  @ApiProperty({ type: String, nullable: true, description: 'null: it is not kept' })
  id!: string | null;
}

export class HistoryEntry {
  @ApiProperty({ format: 'date-time' })
  at!: Date;

  @ApiProperty()
  scanId!: string;

  @ApiProperty(SCORE)
  score!: number;

  @ApiProperty(SCORE)
  siteScore!: number;
}
