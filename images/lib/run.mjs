import { spawn } from 'node:child_process';

/** Runs a program by argument array; answers its standard output, fails with the end of what it said. */
export function run(file, args, { input, cwd, env, onLine } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd, env: env ?? process.env, stdio: ['pipe', 'pipe', 'pipe'] });
    let out = '';
    let tail = '';
    child.stdout.on('data', (chunk) => (out += chunk));
    child.stderr.on('data', (chunk) => {
      tail = (tail + chunk).slice(-4000);
      if (onLine) for (const line of String(chunk).split('\n')) if (line) onLine(line);
    });
    child.stdin.on('error', () => {});
    child.stdin.end(input ?? '');
    child.on('error', (error) =>
      reject(error.code === 'ENOENT' ? new Error(`${file} is not installed`, { cause: error }) : error),
    );
    child.on('close', (code) =>
      code === 0 ? resolve(out) : reject(new Error(`${file} ended with ${code}:\n${tail.trim()}`)),
    );
  });
}
