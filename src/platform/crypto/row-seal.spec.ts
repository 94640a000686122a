import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../config/config.js';
import { RowSeal } from './row-seal.js';

class Seal extends RowSeal {}

const [OLD, NEW] = ['o'.repeat(32), 'n'.repeat(40)];

describe('the seal of rows', () => {
  let folder: string;

  beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'berth-seal-'))));
  afterAll(() => rmSync(folder, { recursive: true }));

  function sealOf(lines: string[], purpose = 'test'): Seal {
    const file = join(folder, 'key');
    writeFileSync(file, lines.join('\n'), { mode: 0o600 });
    const seal = new (Seal as unknown as new (config: unknown, purpose: string) => Seal)(
      loadConfig({ PASSWORD_KEY_FILE: file }, '/dev/null'),
      purpose,
    );
    seal.seal('', ''); // has read its file
    return seal;
  }

  test('opens what it sealed, for the same row and purpose only, and nothing that was changed', () => {
    const sealed = sealOf([OLD]).seal('geheim ✓', 'row:1');
    expect(sealOf([OLD]).open(sealed, 'row:1')).toBe('geheim ✓');
    expect(sealed.includes('geheim')).toBe(false);
    expect(() => sealOf([OLD]).open(sealed, 'row:2')).toThrow(/does not open/);
    expect(() => sealOf([OLD], 'another').open(sealed, 'row:1')).toThrow(/does not open/);
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1;
      expect(() => sealOf([OLD]).open(changed, 'row:1')).toThrow(/does not open/);
    }
    expect(() => sealOf([OLD]).open(Buffer.alloc(3), 'row:1')).toThrow(/does not open/);
  });

  test('a new key before the old one seals, and both open', () => {
    const before = sealOf([OLD]).seal('first', 'row');
    const both = sealOf([NEW, '', `  ${OLD}  `, '']);
    const after = both.seal('second', 'row');
    expect([both.open(before, 'row'), both.open(after, 'row')]).toEqual(['first', 'second']);
    expect(sealOf([NEW]).open(after, 'row')).toBe('second');
    expect(() => sealOf([NEW]).open(before, 'row')).toThrow(/PASSWORD_KEY_FILE/);
  });

  test('a line that is too short is refused', () => {
    expect(() => sealOf([NEW, 'short'])).toThrow(/less than 32/);
  });
});
