import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AppLogger } from './logger.js';
import type { Health } from './health.js';
import type { Metrics } from './metrics.js';

export interface OperatorListenerParts {
  host: string;
  port: number;
  metrics: Metrics;
  health: Health;
  log: AppLogger;
}

/** The private listener of a process, whatever its roles: `/metrics` for Prometheus, `/health/live`, `/health/ready`. */
export class OperatorListener {
  private constructor(private readonly server: Server) {}

  static async open({ host, port, metrics, health, log }: OperatorListenerParts): Promise<OperatorListener> {
    metrics.collectProcess();
    const server = createServer((request, response) => {
      answer(request, response, metrics, health).catch((error: unknown) => {
        log.error({ err: error }, 'Operator listener failed');
        response.destroy();
      });
    });
    server.listen(port, host);
    await once(server, 'listening');
    return new OperatorListener(server);
  }

  get port(): number {
    return (this.server.address() as { port: number }).port;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  metrics: Metrics,
  health: Health,
): Promise<void> {
  const path = (request.url ?? '').split('?', 1)[0];
  if (request.method !== 'GET' && request.method !== 'HEAD') return send(response, 405, 'application/json', '{}');
  if (path === '/metrics') return send(response, 200, metrics.registry.contentType, await metrics.registry.metrics());
  if (path === '/health/live') return send(response, 200, 'application/json', '{"ok":true}');
  if (path === '/health' || path === '/health/ready') {
    const report = await health.report();
    return send(response, report.ok ? 200 : 503, 'application/json', JSON.stringify(report));
  }
  return send(response, 404, 'application/json', '{}');
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, {
    'Content-Type': type,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(body);
}
