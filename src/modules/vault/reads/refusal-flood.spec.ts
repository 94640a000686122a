import type { NewRead } from './new-read.js';
import { RefusalFlood } from './refusal-flood.js';

const START = Date.UTC(2031, 0, 1);

let written: { address: string; at: number; repeated: number; writtenAt: number }[];
let flood: RefusalFlood;

beforeEach(() => {
  jest.useFakeTimers({ now: START });
  written = [];
  flood = new RefusalFlood(async ({ address, at }, repeated) => {
    written.push({ address, at: at!.getTime() - START, repeated, writtenAt: Date.now() - START });
  });
});
afterEach(() => jest.useRealTimers());

function refuse(address: string, times: number): number {
  const read: NewRead = {
    serverId: 'srv_a',
    accountId: 'usr_a',
    via: 'token',
    address,
    refused: 'address_lock',
    keys: [],
  };
  return Array.from({ length: times }, () => flood.absorbs(read)).filter(Boolean).length;
}

test('what is counted is written at the end of its own minute, with the moment of the last one', async () => {
  expect(refuse('192.0.2.1', 60)).toBe(0);
  await jest.advanceTimersByTimeAsync(30_000);
  expect(refuse('192.0.2.2', 61)).toBe(1);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(refuse('192.0.2.1', 5)).toBe(5);
  await jest.advanceTimersByTimeAsync(5000);
  expect(refuse('192.0.2.1', 1)).toBe(1);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(written).toEqual([
    { address: '192.0.2.1', at: 45_000, repeated: 6, writtenAt: 60_000 },
    { address: '192.0.2.2', at: 30_000, repeated: 1, writtenAt: 90_000 },
  ]);
});

test('a new minute counts anew, and what is counted is not written twice', async () => {
  refuse('192.0.2.1', 70);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(refuse('192.0.2.1', 60)).toBe(0);
  refuse('192.0.2.1', 2);
  await flood.flush();
  await jest.advanceTimersByTimeAsync(120_000);
  expect(written.map(({ repeated }) => repeated)).toEqual([10, 2]);
});

test('of more addresses than it remembers, the oldest are written first', async () => {
  refuse('192.0.2.1', 61);
  for (let n = 0; n < 10_000; n++) refuse(`10.0.${n >> 8}.${n & 255}`, 1);
  await jest.advanceTimersByTimeAsync(0);
  expect(written).toEqual([{ address: '192.0.2.1', at: 0, repeated: 1, writtenAt: 0 }]);
});
