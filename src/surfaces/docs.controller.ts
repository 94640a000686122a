import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Controller, Get, Header, Param, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Config } from '../config/config.js';
import { PanelApi } from '../platform/auth/panel-api.decorator.js';
import { Scope, Unscoped } from '../platform/auth/scope.decorator.js';
import { notFound } from '../platform/errors/domain-error.js';
import { ApiExcludeController, ApiExcludeEndpoint } from '../platform/http/openapi-annotations.js';
import { docsHeaders } from '../platform/http/security-headers.js';
import { DOCS_PAGE, DOCS_SCRIPT, DOCS_STYLE } from './docs-page.js';
import { documentFile, type Surface } from './openapi-files.js';

const UI = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
const UI_FILES = new Set(['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png']);

const OWN_FILES: Record<string, [type: string, content: string]> = {
  'page.js': ['text/javascript; charset=utf-8', DOCS_SCRIPT],
  'page.css': ['text/css; charset=utf-8', DOCS_STYLE],
};

/** The browsable documentation of the public API. All of it comes from here; no other host is asked for anything. */
@Controller('docs')
@ApiExcludeController()
@Unscoped('documentation is public')
export class DocsController {
  private readonly headers: ReturnType<typeof docsHeaders>;

  constructor(config: Config) {
    this.headers = docsHeaders(config.publicUrl.startsWith('https:'));
  }

  @Get()
  page(@Req() request: Request, @Res() response: Response): void {
    this.headers(request, response, () => undefined);
    response.type('html').send(DOCS_PAGE);
  }

  @Get(':file')
  file(@Param('file') name: string, @Req() request: Request, @Res() response: Response): void {
    const own = Object.hasOwn(OWN_FILES, name) ? OWN_FILES[name] : undefined;
    if (!own && !UI_FILES.has(name)) throw notFound();
    this.headers(request, response, () => undefined);
    response.setHeader('Cache-Control', 'public, max-age=3600');
    if (own) response.setHeader('Content-Type', own[0]).end(own[1]);
    else response.sendFile(join(UI, name), { cacheControl: false });
  }
}

const documents = new Map<Surface, Promise<string>>();

/** The committed document. It is not made anew at run time: that would take more memory than all the rest of the process. */
function document(surface: Surface): Promise<string> {
  let text = documents.get(surface);
  if (!text) {
    text = readFile(documentFile(surface), 'utf8').catch(() => {
      documents.delete(surface);
      throw notFound();
    });
    documents.set(surface, text);
  }
  return text;
}

@Controller('api/v1')
@ApiExcludeController()
@Unscoped('documentation is public')
export class PublicDocumentController {
  @Get('openapi.json')
  @Header('Content-Type', 'application/json; charset=utf-8')
  document(): Promise<string> {
    return document('public');
  }
}

@PanelApi('')
@ApiExcludeController()
export class PanelDocumentController {
  @Get('openapi.json')
  @Scope('read')
  @ApiExcludeEndpoint()
  @Header('Content-Type', 'application/json; charset=utf-8')
  document(): Promise<string> {
    return document('panel');
  }
}
