import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import type { Principal } from '../../platform/auth/principal.js';
import { RequestPipe, validationFailed } from '../../platform/http/validation.js';
import { CreateProjectDto, SaveProjectDto, type ProjectView } from './dto/project.dto.js';
import { ProjectsService } from './projects.service.js';
import { readProjectBody, type ProjectBody } from './reading/project-body.js';

/** Takes projects in as their bytes come. */
@Injectable()
export class ProjectSaves {
  private readonly pipe = new RequestPipe();

  constructor(private readonly projects: ProjectsService) {}

  async create(caller: Principal, request: Request): Promise<ProjectView> {
    const body = await readProjectBody(request);
    const { name } = await this.validated(body, CreateProjectDto);
    return this.projects.create(caller, { name, document: body.document! });
  }

  async save(caller: Principal, id: string, request: Request): Promise<ProjectView> {
    const body = await readProjectBody(request);
    const { name, revision } = await this.validated(body, SaveProjectDto);
    const { document } = body;
    if (name === undefined && document === undefined) {
      const detail = 'name or data must be given';
      throw validationFailed([{ field: 'data', pointer: '/data', code: 'nothing_to_save', detail }]);
    }
    return this.projects.save(caller, id, { name, document, revision });
  }

  private validated<T extends object>({ fields }: ProjectBody, metatype: new () => T): Promise<T> {
    return this.pipe.transform(fields, { type: 'body', metatype }) as Promise<T>;
  }
}
