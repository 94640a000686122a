import { EventEmitter } from 'node:events';
import type { ExecutionContext } from '@nestjs/common';
import { from, lastValueFrom } from 'rxjs';
import { WakeUp, type WakeUps } from '../redis/wake-ups.js';
import { Shutdown } from './shutdown.js';
import { WaitInterceptor } from './wait-for.js';
import { WaitSlots } from './wait-slots.js';

const ID = 'srv_1';

let state: { status: string };
let changes: EventEmitter;
/** As two modules of one process have it. */
let interceptors: WaitInterceptor[];
let reads: number;

beforeEach(() => {
  state = { status: 'INSTALLING' };
  changes = new EventEmitter().setMaxListeners(0);
  reads = 0;
  const wakeUps = { listen: (ids: string[]) => new WakeUp(changes, ids) } as unknown as WakeUps;
  const slots = new WaitSlots();
  interceptors = [1, 2].map(() => new WaitInterceptor(new Shutdown(), wakeUps, slots));
});

function ask(accountId: string, which = 0): Promise<unknown> {
  const request = { query: { waitFor: 'RUNNING', timeout: '60' }, params: { id: ID }, user: { accountId } };
  const response = Object.assign(new EventEmitter(), { closed: false, writableFinished: false });
  const http = { getRequest: () => request, getResponse: () => response };
  const context = { switchToHttp: () => http } as unknown as ExecutionContext;
  const read = async (): Promise<object> => {
    reads++;
    return { ...state };
  };
  return lastValueFrom(interceptors[which]!.intercept(context, { handle: () => from(read()) }));
}

const hold = (accountId: string, count: number): Promise<unknown>[] =>
  Array.from({ length: count }, (_, number) => ask(accountId, number % 2));

function change(): void {
  state = { status: 'RUNNING' };
  changes.emit(`:${ID}`);
}

test('an account that waits for much at once is told the present state, and others may still wait', async () => {
  const held = hold('usr_1', 32);
  expect(await Promise.all([ask('usr_1'), ask('usr_1', 1)])).toEqual([state, state]);
  expect(reads).toBe(34);
  held.push(ask('usr_2'));
  change();
  expect(await Promise.all(held)).toEqual(held.map(() => ({ status: 'RUNNING' })));

  state = { status: 'INSTALLING' };
  const again = ask('usr_1');
  change();
  expect(await again).toEqual({ status: 'RUNNING' });
});

test('a process holds so many answers back and no more, whoever asks', async () => {
  const held = Array.from({ length: 16 }, (_, number) => hold(`usr_${number}`, 32)).flat();
  expect(await ask('usr_other')).toEqual({ status: 'INSTALLING' });
  change();
  expect(await Promise.all(held)).toHaveLength(512);
  expect(changes.eventNames()).toEqual([]);
});

test('a wait that fails counts no more', async () => {
  const failing = hold('usr_1', 32);
  Object.defineProperty(state, 'status', {
    enumerable: true,
    get: () => {
      throw new Error('gone');
    },
  });
  changes.emit(`:${ID}`);
  expect((await Promise.allSettled(failing)).every(({ status }) => status === 'rejected')).toBe(true);
  state = { status: 'INSTALLING' };
  const again = ask('usr_1');
  change();
  expect(await again).toEqual({ status: 'RUNNING' });
});
