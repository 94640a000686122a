import { createLogger, NestLogger } from './logger.js';
import { runInContext } from './request-context.js';
import type { IncomingMessage } from 'node:http';

function capture() {
  const lines: Record<string, unknown>[] = [];
  const log = createLogger(
    { logLevel: 'trace' },
    { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  return { log, lines };
}

test('secrets are taken out at the top and inside', () => {
  const { log, lines } = capture();
  log.info(
    {
      password: 's3cret',
      headers: { authorization: 's3cret', cookie: 's3cret', 'set-cookie': ['s3cret'] },
      a: { b: { token: 's3cret' } },
    },
    'x',
  );
  log.child({ part: 'y' }).warn({ value: 's3cret', apiKey: 's3cret' }, 'y');
  expect(JSON.stringify(lines)).not.toContain('s3cret');
  expect(lines[1]).toMatchObject({ level: 'warn', part: 'y', msg: 'y' });
});

test('of an error only what it is comes through, not what it was about', () => {
  const { log, lines } = capture();
  const about = {
    code: 'ER_CONSTRAINT',
    query: 'INSERT … s3cret',
    parameters: ['s3cret'],
    driverError: { sql: 's3cret' },
  };
  const cause = Object.assign(new Error('the database refused'), about);
  log.error({ err: Object.assign(new Error('not stored', { cause }), about) }, 'x');
  log.warn({ error: new AggregateError([new Error('one'), new Error('two')], 'all failed') }, 'y');
  expect(JSON.stringify(lines)).not.toContain('s3cret');
  expect(lines[0]!['err']).toMatchObject({
    type: 'Error',
    code: 'ER_CONSTRAINT',
    stack: expect.stringContaining('at '),
  });
  expect((lines[0]!['err'] as Error).message).toContain('the database refused');
  expect(lines[1]!['error']).toMatchObject({ message: 'all failed', errors: ['Error: one', 'Error: two'] });
});

test('lines of a request carry its id', () => {
  const { log, lines } = capture();
  runInContext({} as IncomingMessage, { id: 'req_1', address: '', startedAt: 0 }, () => log.info('inside'));
  log.info('outside');
  expect(lines.map((line) => line['requestId'])).toEqual(['req_1', undefined]);
});

test('errors of Nest keep their stack and part', () => {
  const { log, lines } = capture();
  new NestLogger(log).error('it broke', 'Error: x\n    at y', 'Router');
  expect(lines[0]).toMatchObject({ level: 'error', msg: 'it broke', part: 'Router', stack: 'Error: x\n    at y' });
});
