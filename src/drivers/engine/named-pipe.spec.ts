import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { NamedPipe } from './named-pipe.js';

/** Opens the pipe, says so, and writes pieces of odd sizes that tell where they belong. */
const WRITE = `
const { createHash } = require('node:crypto');
const { openSync, writeSync } = require('node:fs');
const [path, pieces] = process.argv.slice(1);
const fd = openSync(path, 'w');
process.stderr.write('open\\n');
const hash = createHash('sha256');
for (let piece = 0; piece < Number(pieces); piece++) {
  const bytes = Buffer.alloc(1 + ((piece * 7919) % 200000), String(piece));
  hash.update(bytes);
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
}
process.stdout.write(hash.digest('hex'));
`;

describe('a pipe with a name', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-pipe-'));
  const path = join(folder, 'pipe');
  const openFiles = () => readdirSync('/proc/self/fd').length;

  afterAll(() => rmSync(folder, { recursive: true }));

  async function writer(pieces: number): Promise<ChildProcess> {
    const child = spawn(process.execPath, ['-e', WRITE, path, String(pieces)], { stdio: ['ignore', 'pipe', 'pipe'] });
    await once(child.stderr, 'data');
    return child;
  }

  test.each(['at once', 'slowly'])('gives every byte in its place to who reads %s', async (how) => {
    const pipe = await NamedPipe.make(path);
    const child = await writer(200);
    pipe.hide();
    expect(existsSync(path)).toBe(false);
    const told = once(child.stdout!, 'data') as Promise<[Buffer]>;
    const hash = createHash('sha256');
    for await (const piece of pipe.pieces()) {
      hash.update(piece);
      if (how === 'slowly') await turn();
    }
    expect(hash.digest('hex')).toBe(String((await told)[0]));
  });

  test('ends where the writer ends, however it does', async () => {
    const pipe = await NamedPipe.make(path);
    const child = await writer(100_000);
    pipe.hide();
    let bytes = 0;
    for await (const piece of pipe.pieces()) if ((bytes += piece.length) > 1_000_000) child.kill('SIGKILL');
    expect(bytes).toBeGreaterThan(1_000_000);
  });

  test('lets go of the pipe when its reader gives up, or never begins', async () => {
    const before = openFiles();
    const pipe = await NamedPipe.make(path);
    const child = await writer(100_000);
    const ended = once(child, 'exit');
    pipe.hide();
    for await (const piece of pipe.pieces()) if (piece.length > 0) break;
    // Whom nobody listens to any more cannot write.
    expect((await ended)[0]).not.toBe(0);
    await (await NamedPipe.make(path)).close();
    expect(existsSync(path)).toBe(false);
    while (openFiles() > before) await turn();
  });
});
