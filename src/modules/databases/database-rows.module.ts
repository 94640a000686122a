import { Module } from '@nestjs/common';
import { DatabaseClaims } from './database-claims.service.js';
import { DatabasePasswords } from './database-passwords.js';
import { DatabaseRepository } from './database.repository.js';

/** What services, and the areas of databases, need of their rows. */
@Module({
  providers: [DatabaseRepository, DatabasePasswords, DatabaseClaims],
  exports: [DatabaseRepository, DatabasePasswords, DatabaseClaims],
})
export class DatabaseRowsModule {}
