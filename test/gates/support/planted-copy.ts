import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const CONFIGURATION = [
  'package.json',
  'tsconfig.json',
  '.swcrc',
  '.prettierrc.json',
  '.prettierignore',
  'eslint.config.mjs',
  '.dependency-cruiser.cjs',
];

/** A copy of the repository in which violations are planted, to see the checks turn red. */
export class PlantedCopy {
  readonly folder = mkdtempSync(join(tmpdir(), 'berth-gates-'));

  constructor(...folders: string[]) {
    for (const path of [...CONFIGURATION, ...folders]) {
      if (existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(this.folder, path), { recursive: true });
    }
    symlinkSync(join(ROOT, 'node_modules'), join(this.folder, 'node_modules'));
  }

  plant(file: string, text: string): void {
    const path = join(this.folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  change(file: string, edit: (text: string) => string): void {
    this.plant(file, edit(readFileSync(join(this.folder, file), 'utf8')));
  }

  /** Runs a program of node_modules, or a script of the copy, to its end. */
  run(
    args: string[],
    env: Record<string, string | undefined> = {},
  ): Promise<{ code: number; output: string; stdout: string }> {
    return new Promise((resolve) => {
      const options = {
        cwd: this.folder,
        env: { ...process.env, ...env, NO_COLOR: '1' },
        maxBuffer: 256 * 1024 * 1024,
      };
      execFile(process.execPath, args, options, (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code ?? 1) : 0, output: stdout + stderr, stdout });
      });
    });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}
