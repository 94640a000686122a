import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { Database, isDuplicate, type Tx } from '../../platform/database/database.js';
import { unavailable } from '../../platform/errors/domain-error.js';
import { newId } from '../../platform/ids/id.js';
import { HostingNode } from './node.entity.js';

/** First agent release with the secrets broker. */
const BROKER_SINCE = [2, 33] as const;

/** How long a node that showed its token is known by it. */
const KNOWN_MS = 1000;
const KNOWN_NODES = 1000;

export interface NodeView {
  id: string;
  name: string;
  agentVersion: string | null;
  address: string | null;
  lastSeenAt: Date | null;
  createdAt: Date;
}

@Injectable()
export class NodesService {
  /** By the hash of their token. */
  private readonly known = new LRUCache<string, HostingNode>({ max: KNOWN_NODES, ttl: KNOWN_MS });

  constructor(private readonly database: Database) {}

  /** Makes the node known under its name, or gives the known one a new token. */
  async register(name: string, token: string): Promise<NodeView> {
    return this.database.transaction(async ({ manager }) => {
      const tokenHash = hash(token);
      const id = newId('nod');
      try {
        await manager.insert(HostingNode, { id, name, tokenHash, createdAt: new Date() });
      } catch (error) {
        if (!isDuplicate(error, 'uq_nodes_name')) throw error;
        await manager.update(HostingNode, { name }, { tokenHash });
      }
      return viewOf(await manager.findOneByOrFail(HostingNode, { name }));
    });
  }

  async list(): Promise<NodeView[]> {
    const nodes = await this.database.manager.find(HostingNode, { order: { id: 'ASC' } });
    return nodes.map(viewOf);
  }

  /**
   * The node a token belongs to; found by the hash, so no comparison of ours can be timed. A token that was replaced may go on
   * for a second: nodes ask all the time, and each of their questions begins with this one.
   */
  async byToken(token: string): Promise<HostingNode | null> {
    const tokenHash = hash(token);
    const known = this.known.get(tokenHash);
    if (known) return known;
    const start = performance.now();
    const node = await this.database.manager.findOneBy(HostingNode, { tokenHash });
    if (node) this.known.set(tokenHash, node, { start });
    return node;
  }

  async find(id: string): Promise<HostingNode> {
    return this.database.manager.findOneByOrFail(HostingNode, { id });
  }

  /** The node a new service is put on: the one heard of last. */
  async place(tx: Tx): Promise<HostingNode> {
    const [node] = await tx.manager.find(HostingNode, { order: { lastSeenAt: 'DESC', id: 'ASC' }, take: 1 });
    if (!node) throw unavailable('node', new Error('no hosting node is registered: run "berth node register"'));
    return node;
  }

  async seen(id: string, agentVersion: string, address: string | null, consoleUrl: string | null): Promise<void> {
    await this.database.manager.update(
      HostingNode,
      { id },
      { agentVersion, address, consoleUrl, lastSeenAt: () => 'UTC_TIMESTAMP(3)' },
    );
  }
}

export function hasBroker({ agentVersion }: HostingNode): boolean {
  const [major = 0, minor = 0] = (agentVersion ?? '').split('.').map(Number);
  return major > BROKER_SINCE[0] || (major === BROKER_SINCE[0] && minor >= BROKER_SINCE[1]);
}

function hash(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

function viewOf({ id, name, agentVersion, address, lastSeenAt, createdAt }: HostingNode): NodeView {
  return { id, name, agentVersion, address, lastSeenAt, createdAt };
}
