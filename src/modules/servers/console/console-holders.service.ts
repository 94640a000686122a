import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../platform/auth/principal.js';

/** How what somebody has the console of stands. */
export interface HolderStanding {
  id: string;
  accountId: string;
  status: string;
  /** MB. */
  ram: number;
}

/** Things other than services that have consoles. */
export interface ConsoleHolder {
  /** What its ids begin with. */
  readonly prefix: string;
  /** Those of them that are on this node and not being deleted. */
  onNode(nodeId: string, ids: string[]): Promise<HolderStanding[]>;
  /** A power signal given on the console. */
  signal(caller: Principal, id: string, signal: string): Promise<void>;
}

/** What has consoles beside services. */
@Injectable()
export class ConsoleHolders {
  private readonly all: ConsoleHolder[] = [];

  register(holder: ConsoleHolder): void {
    this.all.push(holder);
  }

  of(id: string): ConsoleHolder | undefined {
    return this.all.find(({ prefix }) => id.startsWith(prefix));
  }

  async onNode(nodeId: string, ids: string[]): Promise<HolderStanding[]> {
    const standings = this.all.map(async (holder) => {
      const its = ids.filter((id) => id.startsWith(holder.prefix));
      return its.length === 0 ? [] : holder.onNode(nodeId, its);
    });
    return (await Promise.all(standings)).flat();
  }
}
