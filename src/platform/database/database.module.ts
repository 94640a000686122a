import { Global, Module, type DynamicModule } from '@nestjs/common';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { Config } from '../../config/config.js';
import { Health } from '../observability/health.js';
import { Database } from './database.js';
import { dataSourceOptions, type DatabaseSettings } from './data-source.js';

/**
 * One connection pool for a role; roles that share a process are told apart by `name`. The schema is not touched here:
 * `berth migrate` does that, under a lock.
 */
@Global()
@Module({})
export class DatabaseModule {
  static forRoot(name: string, entities: DatabaseSettings['entities']): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRootAsync({
          name,
          inject: [Config],
          useFactory: (config: Config) => ({
            ...dataSourceOptions({ url: config.require('databaseUrl'), poolSize: config.databasePoolSize, entities }),
            migrations: [],
            retryAttempts: 10,
            retryDelay: 1000,
          }),
        }),
      ],
      providers: [
        {
          provide: Database,
          inject: [getDataSourceToken(name), Health],
          useFactory: (dataSource: DataSource, health: Health) => {
            health.register({ name: 'database', critical: true, check: () => dataSource.query('SELECT 1') });
            return new Database(dataSource);
          },
        },
      ],
      exports: [Database],
    };
  }
}
