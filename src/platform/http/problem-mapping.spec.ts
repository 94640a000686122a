import {
  BadRequestException,
  ForbiddenException,
  InternalServerErrorException,
  NotFoundException,
} from '@nestjs/common';
import { QueryFailedError } from 'typeorm';
import { DomainError, notFound, quotaExceeded, unavailable } from '../errors/domain-error.js';
import { mapError } from './problem-mapping.js';

const driverError = (code: string, fields: object = {}) =>
  Object.assign(new Error(`${code}: SELECT secret_column FROM hidden_table at 10.1.2.3:3306`), { code, ...fields });
const queryFailed = (code: string) =>
  new QueryFailedError('SELECT secret_column FROM hidden_table', ['s3cret'], driverError(code));

test.each<[string, unknown, number, string]>([
  ['a missing resource', notFound(), 404, 'not_found'],
  ['a quota', quotaExceeded({ name: 'ram', allowed: 1, used: 1, requested: 1 }), 403, 'quota_exceeded'],
  ['a part that is away', unavailable('engine'), 503, 'engine_unavailable'],
  ['a framework refusal', new BadRequestException('secret_column'), 400, 'bad_request'],
  ['a closed guard', new ForbiddenException(), 403, 'forbidden'],
  ['an unknown route', new NotFoundException('Cannot GET /x'), 404, 'not_found'],
  ['a framework failure', new InternalServerErrorException('secret_column'), 500, 'internal_error'],
  ['anything else', new Error('secret_column at /srv/hidden_table.ts'), 500, 'internal_error'],
  ['a string', 'secret_column', 500, 'internal_error'],
  ['nothing', undefined, 500, 'internal_error'],
  ['a bad statement', queryFailed('ER_PARSE_ERROR'), 500, 'internal_error'],
  ['a race for a unique key', queryFailed('ER_DUP_ENTRY'), 409, 'already_exists'],
  ['a lock that was not given', queryFailed('ER_LOCK_WAIT_TIMEOUT'), 503, 'busy'],
  ['a lost query', queryFailed('PROTOCOL_CONNECTION_LOST'), 503, 'database_unavailable'],
  ['a database that is not there', driverError('ECONNREFUSED', { fatal: true }), 503, 'database_unavailable'],
  ['another host that is not there', driverError('ECONNREFUSED'), 500, 'internal_error'],
  ['a closed pool', new Error('Pool is closed.'), 503, 'database_unavailable'],
  [
    'a Redis that is not there',
    Object.assign(new Error('x'), { name: 'MaxRetriesPerRequestError' }),
    503,
    'queue_unavailable',
  ],
  [
    'a Redis that went away',
    new Error("Stream isn't writeable and enableOfflineQueue options is false"),
    503,
    'queue_unavailable',
  ],
])('%s', (_, error, status, code) => {
  const { problem } = mapError(error);
  expect(problem).toMatchObject({ status, code });
  expect(JSON.stringify(problem)).not.toMatch(/secret_column|hidden_table|s3cret|10\.1\.2\.3|node_modules|Cannot GET/);
  if (status === 503) expect(Number(problem.headers?.['Retry-After'])).toBeGreaterThan(0);
});

test('members, field errors and the time to wait are handed on', () => {
  const errors = [{ field: 'a', pointer: '/a', code: 'type', detail: 'a must be text' }];
  const error = new DomainError('conflict', 'busy', 'Busy.', {
    members: { operationId: 'op_1' },
    retryAfterSeconds: 0.2,
    errors,
  });
  expect(mapError(error).problem).toEqual({
    status: 409,
    code: 'busy',
    detail: 'Busy.',
    errors,
    members: { operationId: 'op_1' },
    headers: { 'Retry-After': '1' },
  });
});

test('what is ours to mend is reported, what callers do is not', () => {
  expect(mapError(new Error('x')).report).toBe('error');
  expect(mapError(unavailable('engine')).report).toBe('warn');
  expect(mapError(notFound()).report).toBeUndefined();
});
