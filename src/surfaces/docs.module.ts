import { Module } from '@nestjs/common';
import { DocsController, PanelDocumentController, PublicDocumentController } from './docs.controller.js';

/** `/docs`, `/api/v1/openapi.json` and `/panel/api/openapi.json`. */
@Module({ controllers: [DocsController, PublicDocumentController, PanelDocumentController] })
export class DocsModule {}
