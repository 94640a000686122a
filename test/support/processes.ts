import { readdir, readFile } from 'node:fs/promises';

/** Processes of this machine whose command line has words that `matches` takes for its own. */
export async function processesOf(matches: (words: string[]) => boolean): Promise<number[]> {
  const found: number[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (matches(line.split('\0'))) found.push(Number(pid));
  }
  return found;
}

/** The engine's processes that listen on a published address, such as `127.0.0.1:20000`, or on all of one's ports. */
export function portProxies(address: string): Promise<number[]> {
  return processesOf(
    (words) =>
      words[1] === 'forkproxy' && words.some((word) => /^(tcp|udp):/.test(word) && word.includes(`:${address}`)),
  );
}
