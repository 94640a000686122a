import { setTimeout as delay } from 'node:timers/promises';

/** Waits until `probe` answers something other than null, undefined or false. */
export async function until<T>(
  what: string,
  probe: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  timeoutMs = 60_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const answer = await probe();
    if (answer !== null && answer !== undefined && answer !== false) return answer;
    if (Date.now() > deadline) throw new Error(`In ${timeoutMs} ms it did not happen: ${what}`);
    await delay(40);
  }
}
