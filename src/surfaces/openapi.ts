import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DynamicModule, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { PANEL_PREFIX } from '../platform/auth/panel-api.decorator.js';
import { PUBLIC_PREFIX } from '../platform/auth/public-api.decorator.js';
import { annotate } from '../platform/http/openapi-annotations.js';
import { finishDocument } from './openapi-document.js';
import { documentFile, SURFACES, type Surface } from './openapi-files.js';

const DESCRIPTIONS: Record<Surface, { title: string; description: string; prefix: string }> = {
  public: {
    title: 'Berth API',
    description:
      'Hosting by program: services, machines, sites, storage, databases, secrets. Authenticate with an API key.',
    prefix: PUBLIC_PREFIX,
  },
  panel: {
    title: 'Berth panel API',
    description: 'What the web panel uses. Authenticate with a browser session.',
    prefix: PANEL_PREFIX,
  },
};

/**
 * The documents as the code says, as JSON text. `root` is the module of the api role; it is read, not started, so neither
 * settings nor a database are needed.
 */
export async function buildDocuments(root: Type | DynamicModule): Promise<Record<Surface, string>> {
  await annotate();
  const app = await NestFactory.create(root, { preview: true, logger: ['error', 'fatal'], abortOnError: false });
  try {
    const scanned = SwaggerModule.createDocument(app, new DocumentBuilder().setOpenAPIVersion('3.1.0').build(), {
      operationIdFactory: operationId,
    });
    return { public: render('public', scanned), panel: render('panel', scanned) };
  } finally {
    await app.close();
  }
}

/** Writes both documents. */
export async function writeOpenApi(root: Type | DynamicModule): Promise<string[]> {
  const documents = await buildDocuments(root);
  const files = SURFACES.map(documentFile);
  await mkdir(dirname(files[0]!), { recursive: true });
  await Promise.all(SURFACES.map((surface) => writeFile(documentFile(surface), documents[surface])));
  return files;
}

/** The committed documents that are not what the code says; none when all is well. */
export async function checkOpenApi(root: Type | DynamicModule): Promise<string[]> {
  const documents = await buildDocuments(root);
  const stale: string[] = [];
  for (const surface of SURFACES) {
    const committed = await readFile(documentFile(surface), 'utf8').catch(() => '');
    if (committed !== documents[surface]) stale.push(documentFile(surface));
  }
  return stale;
}

function render(surface: Surface, scanned: OpenAPIObject): string {
  const { title, description, prefix } = DESCRIPTIONS[surface];
  const document = finishDocument(scanned, { title, description, prefix: `/${prefix}`, surface });
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** `ServersPublicController.create` is `servers_create` on both surfaces: clients made from the documents stay the same. */
function operationId(controller: string, method: string): string {
  const feature = controller.replace(/(Public|Panel)?Controller$/, '');
  return `${feature[0]!.toLowerCase()}${feature.slice(1)}_${method}`;
}
