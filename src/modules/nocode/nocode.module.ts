import { Module } from '@nestjs/common';
import { AccountsModule } from '../accounts/accounts.module.js';
import { ProjectLiterals } from './project-literals.js';
import { ProjectRepository } from './project.repository.js';
import { ProjectSaves } from './project-saves.service.js';
import { ProjectsService } from './projects.service.js';

/** Projects of the no-code builder. */
@Module({
  imports: [AccountsModule],
  providers: [ProjectRepository, ProjectLiterals, ProjectsService, ProjectSaves],
  exports: [ProjectsService, ProjectSaves],
})
export class NocodeModule {}
