import { Body, Get, HttpCode, Module, Post, Put } from '@nestjs/common';
import { ApiKeyStrategy } from '../platform/auth/api-key.strategy.js';
import { RefusalLimiter } from '../platform/auth/authenticators.js';
import { PanelApi } from '../platform/auth/panel-api.decorator.js';
import { PublicApi } from '../platform/auth/public-api.decorator.js';
import { Scope } from '../platform/auth/scope.decorator.js';
import { StringField } from '../platform/http/fields.js';
import { IdParam } from '../platform/http/id.pipe.js';
import { NotIdempotent } from '../platform/http/idempotency.js';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiProperty,
} from '../platform/http/openapi-annotations.js';
import { buildDocuments } from './openapi.js';

class ThingDto {
  @StringField({ min: 3, max: 48, nullable: true })
  name!: string | null;
}

class ThingView {
  @ApiProperty()
  id!: string;
}

class PanelOnly {
  @ApiProperty()
  secret!: string;
}

abstract class ThingsRoutes {
  @Post()
  @Scope('write')
  @ApiCreatedResponse({ type: ThingView })
  make(@Body() body: ThingDto): ThingView {
    return { id: String(body.name) };
  }

  @Post('token')
  @Scope('write')
  @HttpCode(204)
  @NotIdempotent()
  @ApiNoContentResponse()
  token(): void {}

  @Get(':id')
  @Scope('read')
  @ApiOkResponse({ type: ThingView })
  get(@IdParam('srv') id: string): ThingView {
    return { id };
  }
}

@PublicApi('things')
class ThingsPublicController extends ThingsRoutes {}

@PanelApi('things')
class ThingsPanelController extends ThingsRoutes {
  @Put('mine')
  @Scope('write')
  @ApiOkResponse({ type: PanelOnly })
  mine(): PanelOnly {
    throw new Error('never run');
  }
}

@Module({
  controllers: [ThingsPublicController, ThingsPanelController],
  providers: [
    { provide: ApiKeyStrategy, useValue: {} },
    { provide: RefusalLimiter, useValue: {} },
  ],
})
class Root {}

interface Operation {
  operationId: string;
  parameters: { $ref?: string; schema?: { pattern?: string } }[];
  responses: Record<string, object>;
  'x-required-scope': string;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, { properties: Record<string, unknown> }> };
}

let texts: Record<'public' | 'panel', string>;
const document = (surface: 'public' | 'panel') => JSON.parse(texts[surface]) as Document;

beforeAll(async () => {
  texts = await buildDocuments(Root);
});

test('each surface has its own routes, under the same names', () => {
  const operations = (surface: 'public' | 'panel') =>
    Object.entries(document(surface).paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
    );
  const shared = ['post /things things_make', 'post /things/token things_token', 'get /things/{id} things_get'];
  expect(operations('public').sort()).toEqual([...shared].sort());
  expect(operations('panel').sort()).toEqual([...shared, 'put /things/mine things_mine'].sort());
});

test('every route tells its scope and its problems', () => {
  const { paths } = document('public');
  expect(paths['/things']!['post']!['x-required-scope']).toBe('write');
  expect(Object.keys(paths['/things']!['post']!.responses)).toEqual([
    '201',
    '400',
    '401',
    '403',
    '409',
    '413',
    '415',
    '429',
    '503',
    'default',
  ]);
  expect(Object.keys(paths['/things/{id}']!['get']!.responses)).toEqual([
    '200',
    '400',
    '401',
    '403',
    '404',
    '429',
    '503',
    'default',
  ]);
});

test('ids have their pattern, and POSTs the Idempotency-Key unless they do not look at it', () => {
  const { paths } = document('public');
  expect(paths['/things/{id}']!['get']!.parameters[0]!.schema!.pattern).toMatch(/^\^srv_/);
  expect(paths['/things']!['post']!.parameters).toEqual([{ $ref: '#/components/parameters/IdempotencyKey' }]);
  expect(paths['/things/token']!['post']!.parameters).toEqual([]);
  expect(texts.public).not.toContain('x-not-idempotent');
});

test('schemas say what the fields check, null included, and stay on their surface', () => {
  expect(document('public').components.schemas['ThingDto']!.properties).toEqual({
    name: { type: ['string', 'null'], minLength: 3, maxLength: 48 },
  });
  expect(Object.keys(document('public').components.schemas)).not.toContain('PanelOnly');
  expect(Object.keys(document('panel').components.schemas)).toContain('PanelOnly');
});

test.each(['public', 'panel'] as const)('every reference in the %s document leads somewhere', (surface) => {
  for (const [, path] of texts[surface].matchAll(/"\$ref": "#\/([^"]+)"/g)) {
    const found = path!
      .split('/')
      .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], document(surface));
    expect([path, typeof found]).toEqual([path, 'object']);
  }
});

test('the same code gives the same bytes', async () => {
  expect(await buildDocuments(Root)).toEqual(texts);
});
