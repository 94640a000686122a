import { after, overlap } from './continuation.js';
import { consoleLines } from './console-lines.js';
import { History } from './history.js';
import { LineSplitter } from './line-splitter.js';
import { OutputThrottle } from './output-throttle.js';
import { ServiceState } from './service-state.js';
import { ClientLimits, TokenBucket } from './token-bucket.js';
import { frame, parseFrame } from './wings-frame.js';

describe('frames', () => {
  test.each([
    ['{"event":"auth","args":["x"]}', { event: 'auth', args: ['x'] }],
    ['{"event":"send logs"}', { event: 'send logs', args: [] }],
    ['{"event":"a","args":[1]}', null],
    ['{"event":1,"args":[]}', null],
    ['{"args":[]}', null],
    ['null', null],
    ['[]', null],
    ['', null],
  ])('%s', (text, expected) => expect(parseFrame(text)).toEqual(expected));

  test('are what they are made of', () => {
    expect(parseFrame(frame('console output', '"ä"\u0000').toString())).toEqual({
      event: 'console output',
      args: ['"ä"\u0000'],
    });
    expect(frame('auth success').toString()).toBe('{"event":"auth success","args":[]}');
  });
});

describe('limits of a client', () => {
  let now = 0;
  beforeEach(() => (now = 0));

  test('a bucket has its burst, and then one at a time', () => {
    const bucket = new TokenBucket(200, 10, () => now);
    expect(Array.from({ length: 12 }, () => bucket.take()).filter(Boolean)).toHaveLength(10);
    now = 199;
    expect(bucket.take()).toBe(false);
    now = 200;
    expect([bucket.take(), bucket.take()]).toEqual([true, false]);
    now = 1e9;
    expect(Array.from({ length: 12 }, () => bucket.take()).filter(Boolean)).toHaveLength(10);
  });

  test.each([
    ['auth', 2],
    ['send logs', 2],
    ['set state', 4],
    ['send stats', 4],
    ['send command', 10],
    ['constructor', 4],
  ])('%s: %i at once', (event, burst) => {
    const limits = new ClientLimits(() => now);
    for (let n = 0; n < burst; n++) expect(limits.refuses(event)).toBe(false);
    expect(limits.refuses(event)).toBeTruthy();
  });

  test('odd events share one bucket, and each throttling is told once', () => {
    const limits = new ClientLimits(() => now);
    expect(['a', 'b', 'c', 'd'].map((event) => limits.refuses(event))).toEqual([false, false, false, false]);
    expect(limits.refuses('e')).toEqual({ notice: 'e' });
    for (let n = 0; n < 5; n++) limits.refuses('send command');
    expect(limits.refuses('send command')).toEqual({ notice: 'global' });
    expect(limits.refuses('send command')).toEqual({ notice: null });
    now = 1000;
    expect(limits.refuses('send command')).toBe(false);
  });
});

describe('lines', () => {
  test('come out whole, whatever the pieces were', () => {
    const text = Buffer.from('eins\r\nzwölf €\n\nprogress\rmore\r\nrest');
    for (const size of [1, 2, 3, 7, 100]) {
      const splitter = new LineSplitter();
      const lines: string[] = [];
      for (let at = 0; at < text.length; at += size) lines.push(...splitter.push(text.subarray(at, at + size)));
      expect([...lines, ...splitter.end()]).toEqual(['eins', 'zwölf €', '', 'progress\rmore', 'rest']);
    }
  });

  test('without an end are cut', () => {
    const lines = new LineSplitter().push(Buffer.from('x'.repeat(40_000)));
    expect(lines.map((line) => line.length)).toEqual([16_384, 16_384, 7232]);
  });

  test('that are typed lose what a terminal takes for orders', () => {
    expect(consoleLines('say hello')).toEqual(['say hello']);
    expect(consoleLines('a\r\nb\nc\n')).toEqual(['a', 'b', 'c']);
    expect(consoleLines('\u0003\u0004\u0011\u0013\u001a\u001b[A\u007f\tx')).toEqual(['[A\tx']);
    expect(consoleLines('')).toEqual(['']);
  });

  test('are remembered up to a number', () => {
    const history = new History();
    history.add(Array.from({ length: 2500 }, (_, n) => `${n}`));
    expect(history.last(2)).toEqual(['2498', '2499']);
    expect(history.last(5000)).toHaveLength(1000);
    history.add(['x'.repeat(600_000)]);
    expect(history.last(10)).toEqual([]);
  });
});

describe('output throttle', () => {
  test('2,000 lines in 100 ms, one notice each time', () => {
    let now = 0;
    const throttle = new OutputThrottle(() => now);
    expect(throttle.pass(1500)).toEqual({ allowed: 1500, notice: false });
    expect(throttle.pass(1500)).toEqual({ allowed: 500, notice: true });
    expect(throttle.pass(10)).toEqual({ allowed: 0, notice: false });
    now = 100;
    expect(throttle.pass(3000)).toEqual({ allowed: 2000, notice: false });
    now = 200;
    expect(throttle.pass(10)).toEqual({ allowed: 10, notice: false });
    now = 300;
    expect(throttle.pass(2001)).toEqual({ allowed: 2000, notice: true });
    now = 5000;
    expect(throttle.pass(2001)).toEqual({ allowed: 2000, notice: true });
  });
});

describe('going on where the log ends', () => {
  test.each([
    ['nothing in common', 'old\n', 'new\n', 0, 0],
    ['all of it is in the log', 'old\nnew\n', 'new\n', 0, 4],
    ['part of it is', 'old\na\nb\n', 'a\nb\nc\n', 0, 4],
    ['equal lines', 't\nt\nt\n', 't\nt\n', 2, 2],
    ['an empty log', '', 'a\n', 0, 0],
  ])('%s', (_, log, text, from, end) => expect(overlap(log, text, from)).toBe(end));

  test('after what is known', () => {
    expect(after('', 'all')).toBe('all');
    expect(after('a\nb\n', 'a\nb\nc\n')).toBe('c\n');
    expect(after('gone\n', 'other\n')).toBe('other\n');
  });
});

describe('state', () => {
  const say = (...said: (boolean | string)[]) => {
    const state = new ServiceState();
    return said.map((one) => {
      if (typeof one === 'boolean') state.engineSays(one);
      else if (one.startsWith('!')) state.signalled(one.slice(1));
      else state.controlPlaneSays(one);
      return state.current;
    });
  };

  test.each([
    ['a stop', [true, 'RUNNING', '!stop', false, 'STOPPED'], ['running', 'running', 'stopping', 'offline', 'offline']],
    ['a restart', [true, '!restart', false, true, 'RUNNING'], ['running', 'stopping', 'offline', 'running', 'running']],
    [
      'a start',
      [false, 'STOPPED', '!start', true, 'RUNNING'],
      ['offline', 'offline', 'starting', 'starting', 'running'],
    ],
    ['an installation', [false, 'INSTALLING', true, 'RUNNING'], ['offline', 'starting', 'starting', 'running']],
    [
      'a crash',
      [true, 'RUNNING', false, 'STARTING', true, 'RUNNING'],
      ['running', 'running', 'offline', 'starting', 'starting', 'running'],
    ],
    ['a kill of what stands still', [false, 'STOPPED', '!kill'], ['offline', 'offline', 'offline']],
  ])('%s', (_, said, expected) => expect(say(...said)).toEqual(expected));
});
