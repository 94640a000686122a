import { parse } from 'dotenv';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { fc } from '../../../test/support/fast-check.js';
import { encodeDotenv, nonportableHeader, type DotenvEntry } from './dotenv-encoder.js';

const folder = mkdtempSync(join(tmpdir(), 'berth-dotenv-'));
afterAll(() => rmSync(folder, { recursive: true }));

type Values = Record<string, string | null>;
/** A real program that reads many files at once. */
type Reader = (files: string[]) => Values[];

const MARK = '\u001e';
const canary = join(folder, 'executed');

/** Sources each file in a shell of its own and prints what is in its environment more than without one. */
function shell(program: string): Reader {
  const script = `for f in /dev/null "$@"; do ( set -a; . "$f"; env -0 | tr '\\0' '\\037'; printf '${MARK}' ); done`;
  return (files) => {
    const text = execFileSync(program, ['-c', script, program, ...files], {
      env: { PATH: '/usr/bin:/bin', CANARY: canary },
      stdio: ['ignore', 'pipe', 'inherit'],
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    });
    const [own, ...all] = text
      .split(MARK)
      .slice(0, -1)
      .map((part) => part.split('\u001f').slice(0, -1).map(variable));
    const names = new Set(own!.map(([name]) => name));
    return all.map((variables) => Object.fromEntries(variables.filter(([name]) => !names.has(name)).sort()));
  };
}

function variable(text: string): [string, string] {
  const equal = text.indexOf('=');
  return [text.slice(0, equal), text.slice(equal + 1)];
}

const PYTHON = `
import json, sys
from dotenv import dotenv_values
print(json.dumps([dotenv_values(f, interpolate=sys.argv[1] == 'yes') for f in sys.argv[2:]]))`;

function python(interpolate: 'yes' | 'no'): Reader {
  return (files) =>
    JSON.parse(
      execFileSync(pythonWithDotenv!, ['-c', PYTHON, interpolate, ...files], { encoding: 'utf8', maxBuffer: 1 << 28 }),
    ) as Values[];
}

const pythonWithDotenv = ['/usr/bin/python3', 'python3'].find(
  (program) => spawnSync(program, ['-c', 'import dotenv']).status === 0,
);

const inProcess =
  (read: (text: string) => object, texts: Map<string, string>): Reader =>
  (files) =>
    files.map((file) => ({ ...read(texts.get(file)!) }));

const texts = new Map<string, string>();
const SHELLS: Record<string, Reader> = { bash: shell('bash'), dash: shell('dash') };
const LIBRARIES: Record<string, Reader> = {
  dotenv: inProcess(parse, texts),
  node: inProcess(parseEnv, texts),
  ...(pythonWithDotenv ? { python: python('no'), interpolatingPython: python('yes') } : {}),
};
const READERS = { ...SHELLS, ...LIBRARIES };

let made = 0;
/** Writes one file for each list of entries and has all of them read by every reader. */
function readAll(lists: DotenvEntry[][]): Record<string, Values[]> {
  texts.clear();
  for (const entries of lists) texts.set(join(folder, `${++made}.env`), encodeDotenv(entries).text);
  for (const [file, text] of texts) writeFileSync(file, text);
  const files = [...texts.keys()];
  return Object.fromEntries(Object.entries(READERS).map(([name, read]) => [name, read(files)]));
}

/** Pieces that break encoders, and text of any kind. No NUL: values have none. */
const piece = fc.oneof(
  fc.constantFrom(
    "'",
    '"',
    '`',
    '\\',
    '\\\\',
    '$',
    '${HOME}',
    '$(x)',
    '`x`',
    '\n',
    '\r',
    '\r\n',
    '\nEVIL=1',
    '\n#',
    ' ',
  ),
  fc.constantFrom(
    '#',
    '=',
    'export X=1',
    '\nexport EVIL="1"',
    "\nEVIL='1",
    '"\nEVIL=1',
    "'\nEVIL=1",
    '\\"',
    "\\'",
    '\t',
  ),
  fc.constantFrom(
    '$(touch "$CANARY")',
    '`touch "$CANARY"`',
    ';touch "$CANARY";',
    '"; touch "$CANARY"; "',
    '\\n',
    'é€😀',
  ),
  fc.string({ maxLength: 6 }).map((text) => text.replaceAll('\0', '')),
  fc.fullUnicodeString({ maxLength: 4 }).map((text) => text.replaceAll(/[\0\u001e\u001f]/g, '').toWellFormed()),
);
const value = fc.array(piece, { maxLength: 7 }).map((parts) => parts.join('').replaceAll(/[\u001e\u001f]/g, ''));

const RUNS = 600;

/** One property over many samples, but few processes. */
function samples(): DotenvEntry[][] {
  const lists = fc.sample(fc.array(value, { minLength: 1, maxLength: 4 }), { numRuns: RUNS });
  return lists.map((values) => values.map((text, index) => ({ key: `KEY_${index}`, value: text })));
}

/** Readers that are known to read this value as something else, though not as more than one. */
function excused(reader: string, text: string): boolean {
  return reader === 'interpolatingPython' && text.includes('${');
}

test('V-14: portable values read back the same everywhere, all values in shells, and none makes another key', () => {
  const lists = samples();
  const answers = readAll(lists);
  const faults: unknown[] = [];
  const classes = { portable: 0, shellOnly: 0 };
  for (const [reader, all] of Object.entries(answers)) {
    lists.forEach((entries, index) => {
      const got = all[index]!;
      const { nonportable } = encodeDotenv(entries);
      if (Object.keys(got).sort().join() !== entries.map(({ key }) => key).join()) faults.push([reader, entries, got]);
      for (const { key, value: text } of entries) {
        const exact = reader in SHELLS || !nonportable.includes(key);
        classes[nonportable.includes(key) ? 'shellOnly' : 'portable']++;
        if (exact && !excused(reader, text) && got[key] !== text) faults.push([reader, key, text, got[key]]);
      }
    });
  }
  expect(faults.slice(0, 5)).toEqual([]);
  expect(Math.min(...Object.values(classes))).toBeGreaterThan(500);
});

test('V-14: nothing is executed when the file is sourced', () => expect(existsSync(canary)).toBe(false));

test.each([
  ['plain', 'http://a:b@c/?', false],
  ['empty', '', false],
  ['a space', 'a b', false],
  ['both quotes', `'"`, true],
  ['a certificate', '-----BEGIN-----\nAAA=\n-----END-----\n', false],
  ['a carriage return', 'a\r\nb', true],
  ['a JSON document', '{"a":"b\'c"}', true],
])('%s', (_name, text, isNonportable) => {
  expect(encodeDotenv([{ key: 'A', value: text }]).nonportable).toEqual(isNonportable ? ['A'] : []);
});

test('a backslash at the end does not swallow the next line', () => {
  const entries = [
    { key: 'A', value: `dir'$\\` },
    { key: 'B', value: `it's "quoted"` },
    { key: 'C', value: 'x y' },
  ];
  for (const [reader, [got]] of Object.entries(readAll([entries]))) {
    expect([reader, Object.keys(got!).sort()]).toEqual([reader, ['A', 'B', 'C']]);
    expect([reader, got!['C']]).toEqual([reader, 'x y']);
  }
});

test('the header names as many keys as fit', () => {
  expect(nonportableHeader([])).toBeNull();
  expect(nonportableHeader(['A', 'B'])).toBe('A,B');
  const many = Array.from({ length: 200 }, (_, index) => `${'K'.repeat(120)}_${index}`);
  expect(nonportableHeader(many)!.length).toBeLessThan(4200);
  expect(nonportableHeader(many)).toMatch(/^(K+_\d+,)+\.\.\.$/);
});
