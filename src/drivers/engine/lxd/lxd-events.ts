import WebSocket from 'ws';
import type { EngineEvent } from '../engine.js';
import type { LxdEndpoint } from './lxd-endpoint.js';

const KINDS: Record<string, EngineEvent['kind']> = {
  'instance-started': 'started',
  'instance-restarted': 'started',
  'instance-resumed': 'started',
  'instance-stopped': 'stopped',
  'instance-shutdown': 'stopped',
};

const SLOWEST_RETRY_MS = 5000;
/** A connection that is silent for this long after a ping is dead. */
const PING_MS = 15_000;

interface LifecycleMessage {
  type: string;
  timestamp: string;
  project?: string;
  metadata?: { action?: string; source?: string };
}

interface Watcher {
  listener: (event: EngineEvent) => void;
  onConnect: () => void;
  onBreak: () => void;
}

/** Follows the engine's event stream, across its restarts, until the signal aborts. */
export function watchEvents(
  endpoint: LxdEndpoint,
  project: string,
  { listener, onConnect, onBreak }: Watcher,
  signal: AbortSignal,
): void {
  let retryMs = 100;
  const connect = () => {
    if (signal.aborted) return;
    const url = endpoint.webSocketUrl(`/1.0/events?type=lifecycle&project=${encodeURIComponent(project)}`);
    const socket = new WebSocket(url, { ...endpoint.webSocketOptions, handshakeTimeout: 5000 });
    let alive = true;
    let connected = false;
    const ping = setInterval(() => {
      if (!alive) return socket.terminate();
      alive = false;
      socket.ping();
    }, PING_MS);
    const end = () => socket.terminate();
    signal.addEventListener('abort', end, { once: true });
    socket.on('open', () => {
      retryMs = 100;
      connected = true;
      onConnect();
    });
    socket.on('pong', () => (alive = true));
    socket.on('message', (data) => {
      alive = true;
      const event = eventOf((data as Buffer).toString(), project);
      if (event) listener(event);
    });
    // The reason shows in the next request that fails; here it only means to try again.
    socket.on('error', () => {});
    socket.on('close', () => {
      clearInterval(ping);
      signal.removeEventListener('abort', end);
      if (signal.aborted) return;
      if (connected) onBreak();
      setTimeout(connect, retryMs).unref();
      retryMs = Math.min(retryMs * 2, SLOWEST_RETRY_MS);
    });
  };
  connect();
}

export function eventOf(text: string, project: string): EngineEvent | null {
  let message: LifecycleMessage;
  try {
    message = JSON.parse(text) as LifecycleMessage;
  } catch {
    return null;
  }
  const kind = KINDS[message.metadata?.action ?? ''];
  const [path = '', query = ''] = (message.metadata?.source ?? '').split('?');
  const [, instance] = /^\/1\.0\/instances\/([^/]+)$/.exec(path) ?? [];
  const own = (message.project ?? new URLSearchParams(query).get('project') ?? 'default') === project;
  if (message.type !== 'lifecycle' || !kind || !instance || !own) return null;
  return { instance: decodeURIComponent(instance), kind, at: new Date(message.timestamp) };
}
