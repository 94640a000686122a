import { Injectable } from '@nestjs/common';
import { LessThan } from 'typeorm';
import type { Principal } from '../auth/principal.js';
import { Database, type Tx } from '../database/database.js';
import { idFloor, newId } from '../ids/id.js';
import { ActivityEvent, type Actor } from './activity-event.entity.js';

export interface NewEvent {
  accountId: string;
  resourceId: string;
  event: string;
  actor: Actor;
  ip: string | null;
  properties?: object;
}

export const SYSTEM: Pick<NewEvent, 'actor' | 'ip'> = { actor: { type: 'system', id: null }, ip: null };

/** The part of an entry that says who did it. */
export function actorOf({ via, keyId, address }: Principal): Pick<NewEvent, 'actor' | 'ip'> {
  return { actor: { type: via, id: keyId }, ip: address };
}

/** Nearly every change writes one, so it is written without the mapper. */
const INSERT = `
  INSERT INTO activity_events
         (id, account_id, resource_id, event, actor_type, actor_id, ip, properties, created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Of one resource's newest entries, whether one says the same of the same caller. */
const FIND_SAME = `
  SELECT id FROM activity_events
   WHERE resource_id = ? AND id > ? AND event = ?
     AND actor_type = ? AND actor_id <=> ? AND ip <=> ? AND properties = ?
   LIMIT 1`;

/** `stringify` writes halves of surrogate pairs as escapes, and MariaDB refuses JSON that holds one. */
function wellFormedJson(value: object): string {
  return JSON.stringify(value).replace(/\\(?:u(d[89a-f][0-9a-f]{2})|.)/g, (escape, half?: string) =>
    half === undefined ? escape : '\ufffd',
  );
}

/** Writes and reads the activity log. */
@Injectable()
export class EventRecorder {
  constructor(private readonly database: Database) {}

  async record(
    { manager }: Pick<Tx, 'manager'>,
    { accountId, resourceId, event, actor, ip, properties = {} }: NewEvent,
  ): Promise<void> {
    const who = [actor.type, actor.id, ip];
    const entry = [newId('act'), accountId, resourceId, event, ...who, wellFormedJson(properties), new Date()];
    await manager.query(INSERT, entry);
  }

  /**
   * The same, unless an equal entry was written within that time: of what a client asks for in many parts, one. Meaningful
   * inside a transaction that holds the resource's row.
   */
  async recordOnce(tx: Pick<Tx, 'manager'>, entry: NewEvent, withinMs: number): Promise<void> {
    const { resourceId, event, actor, ip, properties = {} } = entry;
    const floor = idFloor('act', new Date(Date.now() - withinMs));
    const same = [resourceId, floor, event, actor.type, actor.id, ip, wellFormedJson(properties)];
    const found = await tx.manager.query<unknown[]>(FIND_SAME, same);
    if (found.length === 0) await this.record(tx, entry);
  }

  /** Newest first; `before` is the id of the last entry of the page before. */
  async list(resourceId: string, limit: number, before?: string): Promise<ActivityEvent[]> {
    return this.database.manager.find(ActivityEvent, {
      where: { resourceId, ...(before === undefined ? {} : { id: LessThan(before) }) },
      order: { id: 'DESC' },
      take: limit,
    });
  }
}
