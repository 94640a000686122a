import { CaddyEdge } from './caddy/caddy-edge.js';
import type { Edge } from './edge.js';

/** `adminUrl` is `unix:/path/to/socket` or `http://127.0.0.1:2019`. */
export function createEdge(adminUrl: string): Edge {
  return new CaddyEdge(adminUrl);
}
