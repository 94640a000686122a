import { Body, Get, HttpCode, Post, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Caller } from '../../platform/auth/caller.decorator.js';
import type { Principal } from '../../platform/auth/principal.js';
import { Scope } from '../../platform/auth/scope.decorator.js';
import { BodyLimit } from '../../platform/http/body.decorators.js';
import { IdParam } from '../../platform/http/id.pipe.js';
import { NotIdempotent } from '../../platform/http/idempotency.js';
import { ApiExtraModels, ApiOkResponse } from '../../platform/http/openapi-annotations.js';
import { PageQuery, type Page } from '../../platform/http/page.js';
import { DatabasesService } from './databases.service.js';
import {
  DatabaseView,
  ImportDto,
  ImportResult,
  MAX_IMPORT_BODY,
  MAX_QUERY_BODY,
  QueryDto,
  QueryResult,
  ResultSetView,
  TableView,
} from './dto/database.dto.js';
import { DUMP_TYPE, ExportReader } from './export.reader.js';
import { QueryReader } from './query.reader.js';

/** Routes of databases, the same on both surfaces. */
@ApiExtraModels(ResultSetView)
export abstract class DatabasesRoutes {
  constructor(
    private readonly databases: DatabasesService,
    private readonly queries: QueryReader,
    private readonly exports: ExportReader,
  ) {}

  @Get()
  @Scope('read')
  @ApiOkResponse({ type: [DatabaseView] })
  list(@Caller() caller: Principal, @Query() query: PageQuery): Promise<Page<DatabaseView>> {
    return this.databases.list(caller, query);
  }

  @Get(':id/tables')
  @Scope('read')
  @ApiOkResponse({ type: [TableView] })
  tables(@Caller() caller: Principal, @IdParam('db') id: string): Promise<TableView[]> {
    return this.queries.tables(caller, id);
  }

  @Post(':id/query')
  @Scope('write')
  @HttpCode(200)
  @BodyLimit(MAX_QUERY_BODY)
  @ApiOkResponse({ type: QueryResult })
  query(@Caller() caller: Principal, @IdParam('db') id: string, @Body() { sql }: QueryDto): Promise<QueryResult> {
    return this.queries.query(caller, id, sql);
  }

  @Post(':id/import')
  @Scope('write')
  @HttpCode(200)
  @BodyLimit(MAX_IMPORT_BODY)
  @ApiOkResponse({ type: ImportResult })
  import(@Caller() caller: Principal, @IdParam('db') id: string, @Body() { sql }: ImportDto): Promise<ImportResult> {
    return this.queries.import(caller, id, sql);
  }

  /** A POST, as reading a database takes the scope `write`. */
  @Post(':id/export')
  @Scope('write')
  @HttpCode(200)
  @NotIdempotent()
  @ApiOkResponse({
    description: 'The database as SQL text',
    content: { [DUMP_TYPE]: { schema: { type: 'string', format: 'binary' } } },
  })
  export(@Caller() caller: Principal, @IdParam('db') id: string, @Res() response: Response): Promise<void> {
    return this.exports.send(caller, id, response);
  }
}
