import {
  Body,
  Delete,
  Get,
  HttpCode,
  HttpStatus,
  Patch,
  Post,
  Put,
  Query,
  Req,
  Res,
  UseInterceptors,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { Caller } from '../../platform/auth/caller.decorator.js';
import type { Principal } from '../../platform/auth/principal.js';
import { Scope } from '../../platform/auth/scope.decorator.js';
import { StreamBody } from '../../platform/http/body.decorators.js';
import { IdParam } from '../../platform/http/id.pipe.js';
import {
  ApiBody,
  ApiConsumes,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiResponse,
} from '../../platform/http/openapi-annotations.js';
import { PageQuery, type Page } from '../../platform/http/page.js';
import { ExactQuery } from '../../platform/http/percent-encoding.js';
import { BucketsService } from './buckets/buckets.service.js';
import { BucketView, CreateBucketDto, StorageSummary, UpdateBucketDto } from './dto/bucket.dto.js';
import { KeyQuery, ListObjectsQuery, ObjectList, ObjectView } from './dto/object.dto.js';
import { ObjectUploads } from './lifecycle/object-uploads.js';
import { ObjectDownloads } from './objects/object-downloads.reader.js';
import { ObjectsService } from './objects/objects.service.js';

const BYTES = { schema: { type: 'string', format: 'binary' } };
const CONTENT = { 'application/octet-stream': BYTES };

/** Routes of buckets and objects, the same on both surfaces. */
export abstract class StorageRoutes {
  constructor(
    private readonly buckets: BucketsService,
    private readonly objects: ObjectsService,
    private readonly uploads: ObjectUploads,
    private readonly downloads: ObjectDownloads,
  ) {}

  @Get('summary')
  @Scope('read')
  @ApiOkResponse({ type: StorageSummary })
  summary(@Caller() caller: Principal): Promise<StorageSummary> {
    return this.buckets.summary(caller);
  }

  @Get('buckets')
  @Scope('read')
  @ApiOkResponse({ type: [BucketView] })
  listBuckets(@Caller() caller: Principal, @Query() query: PageQuery): Promise<Page<BucketView>> {
    return this.buckets.list(caller, query);
  }

  @Post('buckets')
  @Scope('write')
  @ApiCreatedResponse({ type: BucketView })
  createBucket(@Caller() caller: Principal, @Body() body: CreateBucketDto): Promise<BucketView> {
    return this.buckets.create(caller, body);
  }

  @Patch('buckets/:id')
  @Scope('write')
  @ApiOkResponse({ type: BucketView })
  updateBucket(
    @Caller() caller: Principal,
    @IdParam('bkt') id: string,
    @Body() { isPublic }: UpdateBucketDto,
  ): Promise<BucketView> {
    return this.buckets.setPublic(caller, id, isPublic);
  }

  @Delete('buckets/:id')
  @Scope('write')
  @HttpCode(204)
  @ApiOperation({ summary: 'Delete the bucket and all it holds, for good' })
  @ApiNoContentResponse()
  deleteBucket(@Caller() caller: Principal, @IdParam('bkt') id: string): Promise<void> {
    return this.buckets.delete(caller, id);
  }

  @Get('buckets/:id/objects')
  @Scope('read')
  @UseInterceptors(ExactQuery)
  @ApiOkResponse({ type: ObjectList })
  listObjects(
    @Caller() caller: Principal,
    @IdParam('bkt') id: string,
    @Query() query: ListObjectsQuery,
  ): Promise<ObjectList> {
    return this.objects.list(caller, id, query);
  }

  @Get('buckets/:id/object')
  @Scope('read')
  @UseInterceptors(ExactQuery)
  @ApiOkResponse({ type: ObjectView })
  getObject(@Caller() caller: Principal, @IdParam('bkt') id: string, @Query() { key }: KeyQuery): Promise<ObjectView> {
    return this.objects.get(caller, id, key);
  }

  @Put('buckets/:id/objects')
  @Scope('write')
  @StreamBody()
  @UseInterceptors(ExactQuery)
  @ApiOperation({
    summary: 'Make an object, or replace the one of that key',
    description:
      'The body is the content itself and may be of any media type. `If-None-Match: *` only makes, never replaces.',
  })
  @ApiConsumes('application/octet-stream')
  @ApiBody(BYTES)
  @ApiCreatedResponse({ type: ObjectView })
  @ApiOkResponse({ type: ObjectView })
  @ApiResponse({ status: 412, description: 'A condition of the request does not hold' })
  async putObject(
    @Caller() caller: Principal,
    @IdParam('bkt') id: string,
    @Query() { key }: KeyQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ObjectView> {
    const { object, isNew } = await this.uploads.put(caller, id, key, request);
    response.status(isNew ? HttpStatus.CREATED : HttpStatus.OK).setHeader('ETag', object.etag);
    return object;
  }

  @Get('buckets/:id/download')
  @Scope('read')
  @UseInterceptors(ExactQuery)
  @ApiOperation({ summary: 'The content of an object, with the media type it was stored with' })
  @ApiOkResponse({ description: 'All of it', content: CONTENT })
  @ApiResponse({ status: 206, description: 'The part that `Range` asked for', content: CONTENT })
  @ApiResponse({ status: 304, description: 'The client has it already' })
  @ApiResponse({ status: 412, description: 'A condition of the request does not hold' })
  @ApiResponse({ status: 416, description: 'The object has no such part' })
  download(
    @Caller() caller: Principal,
    @IdParam('bkt') id: string,
    @Query() { key }: KeyQuery,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    return this.downloads.send(caller, id, key, request, response);
  }

  @Delete('buckets/:id/objects')
  @Scope('write')
  @UseInterceptors(ExactQuery)
  @HttpCode(204)
  @ApiNoContentResponse()
  @ApiResponse({ status: 412, description: 'A condition of the request does not hold' })
  deleteObject(
    @Caller() caller: Principal,
    @IdParam('bkt') id: string,
    @Query() { key }: KeyQuery,
    @Req() request: Request,
  ): Promise<void> {
    return this.objects.delete(caller, id, key, request.headers);
  }
}
