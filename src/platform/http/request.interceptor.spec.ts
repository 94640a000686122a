import type { CallHandler, ExecutionContext } from '@nestjs/common';
import { PassThrough } from 'node:stream';
import { lastValueFrom } from 'rxjs';
import { setPrincipal } from '../auth/principal.js';
import { StreamBody } from './body.decorators.js';
import type { Idempotency } from './idempotency.js';
import { RequestInterceptor } from './request.interceptor.js';

class Uploads {
  @StreamBody()
  take(): void {}
}

/** An upload whose answer is kept from before: of its body only what it was is asked. */
function replay(body: PassThrough): Promise<unknown> {
  const headers = { 'idempotency-key': 'again', 'transfer-encoding': 'chunked' };
  const request = Object.assign(body, { method: 'POST', headers });
  setPrincipal(request as never, { accountId: 'usr_1' } as never);
  const context = {
    switchToHttp: () => ({ getRequest: () => request, getResponse: () => ({}) }),
    getHandler: () => Uploads.prototype.take,
    getClass: () => Uploads,
  };
  const run: Idempotency['run'] = async (_request, _response, _account, _handle, drain) => drain!();
  const interceptor = new RequestInterceptor({ run } as never);
  return lastValueFrom(interceptor.intercept(context as never as ExecutionContext, {} as CallHandler));
}

afterEach(() => jest.useRealTimers());

test('who repeats an upload has to send its body as steadily as the first time', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
  const body = new PassThrough();
  const refused = expect(replay(body)).rejects.toMatchObject({ code: 'body_incomplete' });
  body.write('a little');
  await jest.advanceTimersByTimeAsync(60_000);
  await refused;
  expect(body.destroyed).toBe(true);
});

test('and is answered once all of it has come', async () => {
  const body = new PassThrough();
  const answered = replay(body);
  body.end('all of it');
  await answered;
  expect(body.readableEnded).toBe(true);
});
