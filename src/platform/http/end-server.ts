import type { Server } from 'node:http';

const CLOSE_IDLE_MS = 200;
/** What an answer under way may take. */
const GRACE_MS = 10_000;

/**
 * For a server that is being closed: ends connections as they fall idle, and after a grace the rest. A client that reads no
 * further and one that connected and never asked would otherwise hold the process until it is killed.
 */
export function endConnections(server: Server, graceMs = GRACE_MS): void {
  const idle = setInterval(() => server.closeIdleConnections(), CLOSE_IDLE_MS);
  const rest = setTimeout(() => server.closeAllConnections(), graceMs);
  server.once('close', () => {
    clearInterval(idle);
    clearTimeout(rest);
  });
}

/** Takes no more connections and resolves once there are none. */
export async function endServer(server: Server, graceMs = GRACE_MS): Promise<void> {
  if (!server.listening) return;
  endConnections(server, graceMs);
  await new Promise((resolve) => server.close(resolve));
}
