import type * as Swagger from '@nestjs/swagger';

/*
 * What fields and routes say of themselves for the OpenAPI documents, with the decorators of @nestjs/swagger. Here it is
 * only written down: the documents are committed, so no running role needs that package, which would be a fifth of all the
 * files that a process loads to start.
 */

type Annotator = Extract<keyof typeof Swagger, `Api${string}`>;
type Annotation = (swagger: typeof Swagger) => void;
type Curried = (...options: unknown[]) => (...place: unknown[]) => void;

const annotations: Annotation[] = [];

/** Hands what was written down so far over to @nestjs/swagger. */
export async function annotate(): Promise<void> {
  const swagger = await import('@nestjs/swagger');
  for (const annotation of annotations.splice(0)) annotation(swagger);
}

function annotator<Name extends Annotator>(name: Name): (typeof Swagger)[Name] {
  const written =
    (...options: unknown[]) =>
    (...place: unknown[]): void => {
      annotations.push((swagger) => (swagger[name] as Curried)(...options)(...place));
    };
  return written as (typeof Swagger)[Name];
}

export const ApiAcceptedResponse = annotator('ApiAcceptedResponse');
export const ApiBearerAuth = annotator('ApiBearerAuth');
export const ApiBody = annotator('ApiBody');
export const ApiConsumes = annotator('ApiConsumes');
export const ApiCookieAuth = annotator('ApiCookieAuth');
export const ApiCreatedResponse = annotator('ApiCreatedResponse');
export const ApiExcludeController = annotator('ApiExcludeController');
export const ApiExcludeEndpoint = annotator('ApiExcludeEndpoint');
export const ApiExtension = annotator('ApiExtension');
export const ApiExtraModels = annotator('ApiExtraModels');
export const ApiFoundResponse = annotator('ApiFoundResponse');
export const ApiNoContentResponse = annotator('ApiNoContentResponse');
export const ApiOkResponse = annotator('ApiOkResponse');
export const ApiOperation = annotator('ApiOperation');
export const ApiParam = annotator('ApiParam');
export const ApiProperty = annotator('ApiProperty');
export const ApiPropertyOptional = annotator('ApiPropertyOptional');
export const ApiQuery = annotator('ApiQuery');
export const ApiResponse = annotator('ApiResponse');
export const ApiTags = annotator('ApiTags');
