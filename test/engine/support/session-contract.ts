import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import type { ConsoleAttachment, ExecSession, ExecSpec } from '../../../src/drivers/engine/engine.js';
import { refuses } from './engine-contract.js';
import type { EngineTarget } from './engine-target.js';
import type { Program } from './programs.js';
import { until } from '../../support/until.js';

/** Says that it heard each line it is told. */
const LISTENS: Program = {
  source: `
    console.log('ready');
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => console.log('heard ' + line));
    setInterval(() => {}, 1000);`,
  behaviour: { output: 'ready' },
};

export function shell(command: string, more: Partial<ExecSpec> = {}): ExecSpec {
  const environment = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/home/container' };
  return { command: ['/bin/sh', '-c', command], user: 1000, group: 1000, cwd: '/home/container', environment, ...more };
}

export async function finished(session: ExecSession, input = ''): Promise<[number, string, string]> {
  session.stdin.end(input);
  return Promise.all([session.exit, text(session.stdout), text(session.stderr)]);
}

export function linesOf({ output }: ConsoleAttachment): string[] {
  const lines: string[] = [];
  createInterface({ input: output, crlfDelay: Infinity }).on('line', (line) => lines.push(line));
  return lines;
}

/** What the port promises of programs beside a service's own, and of its console. */
export function sessionContract(target: EngineTarget): void {
  const { engine } = target;
  const listening = async () => {
    const { name } = await target.started(LISTENS);
    await target.untilPrinted(name, 'ready');
    return name;
  };
  let name = '';

  beforeAll(async () => {
    await target.open();
    name = await listening();
  }, 600_000);
  afterAll(() => target.close());

  describe('exec', () => {
    it('keeps the streams apart and tells the exit code', async () => {
      const session = await engine.exec(name, shell('echo to one; echo to two >&2; exit 3'));
      expect(await finished(session)).toEqual([3, 'to one\n', 'to two\n']);
    });

    it.each([0, 1, 42, 126, 255])('exit code %i', async (code) => {
      expect(await finished(await engine.exec(name, shell(`exit ${code}`)))).toEqual([code, '', '']);
    });

    it('hands standard input on to its end', async () => {
      const input = 'line\n'.repeat(20_000);
      expect(await finished(await engine.exec(name, shell('cat')), input)).toEqual([0, input, '']);
      expect(await finished(await engine.exec(name, shell('cat')))).toEqual([0, '', '']);
    });

    it('is ended by kill, and at once', async () => {
      const session = await engine.exec(name, shell('echo begun; sleep 600'));
      await once(session.stdout, 'data');
      const before = Date.now();
      await session.kill();
      expect(await session.exit).toBe(137);
      expect(Date.now() - before).toBeLessThan(5000);
      await session.kill();
    });

    it('runs several at once', async () => {
      const codes = [1, 2, 3, 4, 5, 6];
      const ends = await Promise.all(
        codes.map(async (code) => finished(await engine.exec(name, shell(`echo ${code}; exit ${code}`)))),
      );
      expect(ends).toEqual(codes.map((code) => [code, `${code}\n`, '']));
    });

    it('needs an instance that runs', async () => {
      await refuses(engine.exec('t-none', shell('true')), 'not_found');
      const { name: still } = await target.make(LISTENS);
      const error = await engine.exec(still, shell('true')).then(
        () => null,
        (reason: unknown) => reason,
      );
      expect(error).not.toBeNull();
    });

    it('does not take odd variables', async () => {
      await refuses(engine.exec(name, shell('true', { environment: { 'A-B': '' } })), 'invalid');
      await refuses(engine.exec(name, shell('true', { environment: { A: 'x\ny' } })), 'invalid');
    });
  });

  describe('console', () => {
    it('hands lines to the program and shows what it prints, and nothing else', async () => {
      const attached = await engine.attachConsole(name);
      const lines = linesOf(attached);
      attached.write('one\n');
      await until('an answer', () => lines.includes('heard one'));
      attached.write('two\nthrée\n');
      await until('answers', () => lines.includes('heard thrée'));
      expect(lines).toEqual(['heard one', 'heard two', 'heard thrée']);
      attached.close();
      await attached.closed;
    });

    it('can be attached again, and the log has it all', async () => {
      for (const word of ['first', 'second', 'third']) {
        const attached = await engine.attachConsole(name);
        const lines = linesOf(attached);
        attached.write(`${word}\n`);
        await until('an answer', () => lines.includes(`heard ${word}`));
        attached.close();
        await attached.closed;
      }
      const log = await engine.consoleLog(name);
      expect(log).toMatch(/heard first\r\n(.*\r\n)*heard second\r\n(.*\r\n)*heard third\r\n/);
    });

    it('is closed by the end of the program', async () => {
      const own = await listening();
      const attached = await engine.attachConsole(own);
      attached.output.resume();
      await engine.killInstance(own);
      await attached.closed;
      await refuses(engine.attachConsole(own), 'conflict');
    });

    it('needs an instance', async () => {
      await refuses(engine.attachConsole('t-none'), 'not_found');
    });
  });
}
