import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

const CAP_NET_ADMIN = 12n;
const DEADLINE_MS = 10_000;
const ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin' };

/** Whether this process may change the packet filter. */
export function mayFilter(): boolean {
  try {
    const [, effective] = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    return effective !== undefined && ((BigInt(`0x${effective}`) >> CAP_NET_ADMIN) & 1n) === 1n;
  } catch {
    return false;
  }
}

/** Hands the text to the kernel as one transaction: all of it holds then, or nothing changed. */
export async function applyRuleset(text: string): Promise<void> {
  const { code, complaint } = await nft(['-f', '-'], text);
  if (code !== 0) throw new Error(`nft refused the rules: ${complaint}`);
}

export async function tableExists(table: string): Promise<boolean> {
  return (await nft(['list', 'chain', 'inet', table, 'input'], '')).code === 0;
}

async function nft(args: string[], input: string): Promise<{ code: number | null; complaint: string }> {
  const child = spawn('nft', args, {
    env: ENVIRONMENT,
    stdio: ['pipe', 'ignore', 'pipe'],
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  let complaint = '';
  child.stderr.on('data', (text: Buffer) => (complaint = (complaint + text.toString()).slice(0, 500)));
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, complaint };
}
