import { createServer } from 'node:net';

/**
 * Below what the kernel gives to outgoing connections (from 32768 on), and below `PORT_RANGE`: a process that a test ends and
 * starts again must find its port as it left it.
 */
const FIRST = 10_000;
const PER_WORKER = 500;

const lane = Number(process.env['BERTH_TEST_LANE'] ?? 0);
const slice = FIRST + (10 * lane + ((Number(process.env['JEST_WORKER_ID'] ?? 1) - 1) % 10)) * PER_WORKER;
let next = Math.floor(Math.random() * PER_WORKER);

/** A port of the loopback address that nobody listens on and no other test is given meanwhile. */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < PER_WORKER; tried++) {
    const port = slice + (next++ % PER_WORKER);
    if (await isFree(port)) return port;
  }
  throw new Error(`No port from ${slice} to ${slice + PER_WORKER - 1} is free.`);
}

/** So many of them, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await freePort());
  return ports;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    // Without a host it is refused for a listener on any address.
    server.listen({ port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
