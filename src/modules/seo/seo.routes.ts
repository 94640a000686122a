import { Body, Delete, Get, HttpCode, Post, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Caller } from '../../platform/auth/caller.decorator.js';
import type { Principal } from '../../platform/auth/principal.js';
import { Scope } from '../../platform/auth/scope.decorator.js';
import { IdParam } from '../../platform/http/id.pipe.js';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiResponse,
} from '../../platform/http/openapi-annotations.js';
import type { Page } from '../../platform/http/page.js';
import {
  AuditQuery,
  AuditReportView,
  HistoryEntry,
  HistoryQuery,
  OwnDomainView,
  ReportView,
  ScanDto,
  ScansQuery,
  ScanView,
  SeoQuota,
} from './dto/seo.dto.js';
import { htmlReport, REPORT_POLICY } from './report/html-report.js';
import { ScansService } from './scans/scans.service.js';

const REFUSED = { status: 422, description: 'The target is refused or out of reach: `code` tells why' };

/** Routes of the SEO analysis, the same on both surfaces. */
export abstract class SeoRoutes {
  constructor(private readonly scans: ScansService) {}

  @Get('quota')
  @Scope('read')
  @ApiOkResponse({ type: SeoQuota })
  quota(@Caller() caller: Principal): Promise<SeoQuota> {
    return this.scans.allowance(caller);
  }

  @Get('domains')
  @Scope('read')
  @ApiOkResponse({ type: [OwnDomainView] })
  domains(@Caller() caller: Principal): Promise<OwnDomainView[]> {
    return this.scans.ownDomains(caller);
  }

  @Get('audit')
  @Scope('read')
  @ApiOperation({ summary: 'Judge one of your own domains, for nothing; the report is not kept' })
  @ApiOkResponse({ type: AuditReportView })
  @ApiResponse(REFUSED)
  audit(@Caller() caller: Principal, @Query() query: AuditQuery): Promise<AuditReportView> {
    return this.scans.audit(caller, query);
  }

  @Post('scan')
  @Scope('write')
  @ApiOperation({ summary: 'Judge any site; of your own domains for nothing' })
  @ApiCreatedResponse({ type: ReportView })
  @ApiResponse(REFUSED)
  scan(@Caller() caller: Principal, @Body() body: ScanDto): Promise<ReportView> {
    return this.scans.scan(caller, body);
  }

  @Get('scans')
  @Scope('read')
  @ApiOkResponse({ type: [ScanView] })
  list(@Caller() caller: Principal, @Query() query: ScansQuery): Promise<Page<ScanView>> {
    return this.scans.list(caller, query);
  }

  @Get('scans/:id')
  @Scope('read')
  @ApiOkResponse({ type: ReportView })
  get(@Caller() caller: Principal, @IdParam('scn') id: string): Promise<ReportView> {
    return this.scans.get(caller, id);
  }

  @Get('scans/:id/report')
  @Scope('read')
  @ApiOperation({ summary: 'The report as a page, to be read, sent on and printed' })
  @ApiOkResponse({ content: { 'text/html': { schema: { type: 'string' } } } })
  async report(@Caller() caller: Principal, @IdParam('scn') id: string, @Res() response: Response): Promise<void> {
    const page = htmlReport(await this.scans.get(caller, id));
    response.set('Content-Security-Policy', REPORT_POLICY).type('html').send(page);
  }

  @Get('history')
  @Scope('read')
  @ApiOperation({ summary: 'The scores of a host over time, oldest first' })
  @ApiOkResponse({ type: [HistoryEntry] })
  history(@Caller() caller: Principal, @Query() query: HistoryQuery): Promise<HistoryEntry[]> {
    return this.scans.history(caller, query);
  }

  @Delete('scans/:id')
  @Scope('write')
  @HttpCode(204)
  @ApiNoContentResponse()
  delete(@Caller() caller: Principal, @IdParam('scn') id: string): Promise<void> {
    return this.scans.delete(caller, id);
  }
}
