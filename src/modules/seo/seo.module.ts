import { Module } from '@nestjs/common';
import { AccountsModule } from '../accounts/accounts.module.js';
import { PagesModule } from '../pages/pages.module.js';
import { Crawler } from './crawl/crawler.reader.js';
import { OwnDomains } from './own-domains.reader.js';
import { ScanQuota } from './scans/scan-quota.service.js';
import { ScanRepository } from './scans/scan.repository.js';
import { ScanRunner } from './scans/scan-runner.reader.js';
import { ScanSlots } from './scans/scan-slots.js';
import { ScansService } from './scans/scans.service.js';

/** SEO analysis of sites. */
@Module({
  imports: [AccountsModule, PagesModule],
  providers: [OwnDomains, ScanRepository, ScanQuota, ScanSlots, Crawler, ScanRunner, ScansService],
  exports: [ScansService],
})
export class SeoModule {}
