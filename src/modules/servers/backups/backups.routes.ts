import { Body, Delete, Get, HttpCode, Post, Query, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Caller } from '../../../platform/auth/caller.decorator.js';
import type { Principal } from '../../../platform/auth/principal.js';
import { Scope } from '../../../platform/auth/scope.decorator.js';
import { IdParam, UuidParam } from '../../../platform/http/id.pipe.js';
import {
  ApiAcceptedResponse,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiResponse,
} from '../../../platform/http/openapi-annotations.js';
import { PageQuery, type Page } from '../../../platform/http/page.js';
import { Waitable } from '../../../platform/http/wait-for.js';
import { AcceptedOperation } from '../../../platform/operations/accepted-operation.dto.js';
import { ARCHIVE_TYPE, BackupDownloads } from './backup-downloads.reader.js';
import { BackupsService } from './backups.service.js';
import { BackupView, CreateBackupDto, LockBackupDto } from './dto/backup.dto.js';

const ARCHIVE = { [ARCHIVE_TYPE]: { schema: { type: 'string', format: 'binary' } } };

/** Routes of backups, the same on both surfaces. */
export abstract class BackupsRoutes {
  constructor(
    private readonly backups: BackupsService,
    private readonly downloads: BackupDownloads,
  ) {}

  @Get()
  @Scope('read')
  @ApiOkResponse({ type: [BackupView] })
  list(@Caller() caller: Principal, @IdParam('srv') id: string, @Query() query: PageQuery): Promise<Page<BackupView>> {
    return this.backups.list(caller, id, query);
  }

  @Post()
  @Scope('write')
  @ApiCreatedResponse({ type: BackupView })
  create(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @Body() { name }: CreateBackupDto,
  ): Promise<BackupView> {
    return this.backups.create(caller, id, name);
  }

  @Get(':uuid')
  @Scope('read')
  @Waitable()
  @ApiOkResponse({ type: BackupView })
  get(@Caller() caller: Principal, @IdParam('srv') id: string, @UuidParam() uuid: string): Promise<BackupView> {
    return this.backups.get(caller, id, uuid);
  }

  @Delete(':uuid')
  @Scope('write')
  @HttpCode(204)
  @ApiNoContentResponse()
  delete(@Caller() caller: Principal, @IdParam('srv') id: string, @UuidParam() uuid: string): Promise<void> {
    return this.backups.delete(caller, id, uuid);
  }

  @Get(':uuid/download')
  @Scope('read')
  @ApiOkResponse({ description: 'The archive: tar, compressed by zstd', content: ARCHIVE })
  @ApiResponse({ status: 206, description: 'The part that `Range` asked for', content: ARCHIVE })
  download(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @UuidParam() uuid: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    return this.downloads.send(caller, id, uuid, request, response);
  }

  @Post(':uuid/lock')
  @Scope('write')
  @HttpCode(200)
  @ApiOkResponse({ type: BackupView })
  lock(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @UuidParam() uuid: string,
    @Body() { locked = true }: LockBackupDto,
  ): Promise<BackupView> {
    return this.backups.lock(caller, id, uuid, locked);
  }

  @Post(':uuid/restore')
  @Scope('write')
  @HttpCode(202)
  @ApiAcceptedResponse({ type: AcceptedOperation })
  async restore(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @UuidParam() uuid: string,
  ): Promise<AcceptedOperation> {
    return { operationId: (await this.backups.restore(caller, id, uuid)).id };
  }
}
