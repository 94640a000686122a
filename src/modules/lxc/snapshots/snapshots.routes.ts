import { Body, Delete, Get, HttpCode, Post } from '@nestjs/common';
import { Caller } from '../../../platform/auth/caller.decorator.js';
import type { Principal } from '../../../platform/auth/principal.js';
import { Scope } from '../../../platform/auth/scope.decorator.js';
import { IdParam } from '../../../platform/http/id.pipe.js';
import {
  ApiAcceptedResponse,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
} from '../../../platform/http/openapi-annotations.js';
import { AcceptedOperation } from '../../../platform/operations/accepted-operation.dto.js';
import { AcceptedSnapshot, CreateSnapshotDto, SnapshotView } from '../dto/snapshot.dto.js';
import { SnapshotsService } from './snapshots.service.js';

/** Routes of machines' snapshots, the same on both surfaces. */
export abstract class SnapshotsRoutes {
  constructor(private readonly snapshots: SnapshotsService) {}

  @Get()
  @Scope('read')
  @ApiOkResponse({ type: [SnapshotView] })
  list(@Caller() caller: Principal, @IdParam('lxc') id: string): Promise<SnapshotView[]> {
    return this.snapshots.list(caller, id);
  }

  @Post()
  @Scope('write')
  @ApiCreatedResponse({ type: AcceptedSnapshot })
  create(
    @Caller() caller: Principal,
    @IdParam('lxc') id: string,
    @Body() body: CreateSnapshotDto,
  ): Promise<AcceptedSnapshot> {
    return this.snapshots.create(caller, id, body);
  }

  @Post(':snapshotId/restore')
  @Scope('write')
  @HttpCode(202)
  @ApiAcceptedResponse({ type: AcceptedOperation })
  async restore(
    @Caller() caller: Principal,
    @IdParam('lxc') id: string,
    @IdParam('snp', 'snapshotId') snapshotId: string,
  ): Promise<AcceptedOperation> {
    return { operationId: (await this.snapshots.restore(caller, id, snapshotId)).id };
  }

  @Delete(':snapshotId')
  @Scope('write')
  @HttpCode(204)
  @ApiNoContentResponse()
  remove(
    @Caller() caller: Principal,
    @IdParam('lxc') id: string,
    @IdParam('snp', 'snapshotId') snapshotId: string,
  ): Promise<void> {
    return this.snapshots.delete(caller, id, snapshotId);
  }
}
