import { posix } from 'node:path';
import { FILES_ROOT, isInside, pathInside, shownPath } from './path-rule.js';
import { ATTR, MalformedPacket, packet, PacketReader, REPLY, REQUEST, STATUS } from './sftp-protocol.js';

/** A change to the files, told once it succeeded. */
export interface Done {
  event:
    | 'server:sftp.write'
    | 'server:sftp.create'
    | 'server:sftp.create-directory'
    | 'server:sftp.rename'
    | 'server:sftp.delete';
  path: string;
}

export type Outcome = { pass: Buffer; done?: Done } | { refuse: number; why: string };

/** Bits of an OPEN that ask to write: WRITE, APPEND, CREAT, TRUNC. */
const WRITING = 0x2 | 0x4 | 0x8 | 0x10;
const SET_ID_BITS = 0o6000;
const TYPE_BITS = 0o170000;
const REGULAR = 0o100000;

const DENIED: Outcome = { refuse: STATUS.PERMISSION_DENIED, why: 'Permission denied' };
const NO_FILE: Outcome = { refuse: STATUS.FAILURE, why: 'Not a regular file' };
const UNSUPPORTED: Outcome = { refuse: STATUS.UNSUPPORTED, why: 'Operation unsupported' };

/** Extensions by what they name: two paths, a path, handles, nothing. Others are refused; hard links among them. */
const EXTENSIONS: Record<string, 'rename' | 'path' | 'attributes' | 'handle'> = {
  'posix-rename@openssh.com': 'rename',
  'statvfs@openssh.com': 'path',
  'lsetstat@openssh.com': 'attributes',
  'fstatvfs@openssh.com': 'handle',
  'fsync@openssh.com': 'handle',
  'limits@openssh.com': 'handle',
  'copy-data': 'handle',
};

/**
 * Judges each request that names a path or sets permissions: paths lead nowhere but to the files, whichever way they are
 * written, and only regular files are opened, as others could hold the server up. The kernel keeps the server to the files
 * too; what is refused here is refused with a clear word.
 */
export class RequestRules {
  private questions = 0;

  /** `ask` puts a question of our own to the server. */
  constructor(private readonly ask: (frame: Buffer) => Promise<Buffer>) {}

  async judge(frame: Buffer): Promise<Outcome> {
    const reader = new PacketReader(frame);
    const { type } = reader;
    const id = reader.uint32();
    switch (type) {
      case REQUEST.OPEN:
        return this.open(id, reader);
      case REQUEST.OPENDIR:
      case REQUEST.STAT:
      case REQUEST.REALPATH:
        return this.following(reader, (path) => ({ pass: packet(type, id, path) }));
      case REQUEST.LSTAT:
      case REQUEST.READLINK:
        return this.itself(reader, (path) => ({ pass: packet(type, id, path) }));
      case REQUEST.REMOVE:
      case REQUEST.RMDIR:
        return this.itself(reader, (path) => ({
          pass: packet(type, id, path),
          done: done('server:sftp.delete', path),
        }));
      case REQUEST.MKDIR:
        return this.itself(reader, (path) => ({
          pass: packet(type, id, path, withoutSetId(reader)),
          done: done('server:sftp.create-directory', path),
        }));
      case REQUEST.SETSTAT:
        return this.following(reader, (path) =>
          setsId(reader) ? DENIED : { pass: packet(type, id, path, reader.rest()) },
        );
      case REQUEST.FSETSTAT: {
        const handle = reader.text();
        return setsId(reader) ? DENIED : { pass: packet(type, id, handle, reader.rest()) };
      }
      case REQUEST.RENAME:
        return this.rename(reader, (from, to) => packet(type, id, from, to));
      case REQUEST.SYMLINK:
        return this.symlink(id, reader);
      case REQUEST.EXTENDED:
        return this.extended(id, reader, frame);
      default:
        return UNSUPPORTED;
    }
  }

  /** The server's greeting without the extensions that would be refused. */
  static offered(greeting: Buffer): Buffer {
    const reader = new PacketReader(greeting);
    const fields: (number | string)[] = [reader.uint32()];
    while (!reader.done) {
      const [name, data] = [reader.text(), reader.text()];
      if (name in EXTENSIONS) fields.push(name, data);
    }
    return packet(REPLY.VERSION, ...fields);
  }

  private async open(id: number, reader: PacketReader): Promise<Outcome> {
    const path = pathInside(reader.text());
    const flags = reader.uint32();
    const attributes = withoutSetId(reader);
    if (path === null) return DENIED;
    const [inside, mode] = await Promise.all([this.staysInside(path), this.modeOf(path)]);
    if (!inside) return DENIED;
    if (mode !== null && (mode & TYPE_BITS) !== REGULAR) return NO_FILE;
    const pass = packet(REQUEST.OPEN, id, path, flags, attributes);
    if ((flags & WRITING) === 0) return { pass };
    return { pass, done: done(mode === null ? 'server:sftp.create' : 'server:sftp.write', path) };
  }

  private async rename(reader: PacketReader, build: (from: string, to: string) => Buffer): Promise<Outcome> {
    const [from, to] = [pathInside(reader.text()), pathInside(reader.text())];
    if (from === null || to === null) return DENIED;
    const inside = await Promise.all([this.standsInside(from), this.standsInside(to)]);
    if (inside.includes(false)) return DENIED;
    const path = `${shownPath(from)} -> ${shownPath(to)}`;
    return { pass: build(from, to), done: { event: 'server:sftp.rename', path } };
  }

  /** OpenSSH sends where it leads before where it stands, unlike the draft; clients know by the listener's name. */
  private async symlink(id: number, reader: PacketReader): Promise<Outcome> {
    const target = reader.text();
    return this.itself(reader, (link) => {
      if (target === '' || pathInside(target, posix.dirname(link)) === null) return DENIED;
      return { pass: packet(REQUEST.SYMLINK, id, target, link), done: done('server:sftp.create', link) };
    });
  }

  private async extended(id: number, reader: PacketReader, frame: Buffer): Promise<Outcome> {
    const name = reader.text();
    switch (Object.hasOwn(EXTENSIONS, name) ? EXTENSIONS[name] : undefined) {
      case 'rename':
        return this.rename(reader, (from, to) => packet(REQUEST.EXTENDED, id, name, from, to));
      case 'path':
        return this.following(reader, (path) => ({ pass: packet(REQUEST.EXTENDED, id, name, path) }));
      case 'attributes':
        return this.itself(reader, (path) =>
          setsId(reader) ? DENIED : { pass: packet(REQUEST.EXTENDED, id, name, path, reader.rest()) },
        );
      case 'handle':
        return { pass: Buffer.from(frame) };
      default:
        return UNSUPPORTED;
    }
  }

  /** Of a request that goes where the path leads. */
  private async following(reader: PacketReader, outcome: (path: string) => Outcome): Promise<Outcome> {
    const path = pathInside(reader.text());
    return path === null || !(await this.staysInside(path)) ? DENIED : outcome(path);
  }

  /** Of a request that is about what the path names, be it a link. */
  private async itself(reader: PacketReader, outcome: (path: string) => Outcome): Promise<Outcome> {
    const path = pathInside(reader.text());
    return path === null || !(await this.standsInside(path)) ? DENIED : outcome(path);
  }

  /** Whether no link on the way to it leads out; where it leads itself does not matter. */
  private async standsInside(path: string): Promise<boolean> {
    return path === FILES_ROOT || this.staysInside(posix.dirname(path));
  }

  /** Whether it is still inside once links are followed. What is not there yet leads nowhere. */
  private async staysInside(path: string): Promise<boolean> {
    const answer = new PacketReader(await this.ask(packet(REQUEST.REALPATH, this.nextId(), path)));
    if (answer.type !== REPLY.NAME) return true;
    answer.uint32();
    return answer.uint32() === 1 && isInside(answer.text());
  }

  /** Kind and permissions of what the path leads to; null when there is nothing. */
  private async modeOf(path: string): Promise<number | null> {
    const answer = new PacketReader(await this.ask(packet(REQUEST.STAT, this.nextId(), path)));
    if (answer.type !== REPLY.ATTRS) return null;
    answer.uint32();
    return permissionsOf(answer.rest())?.mode ?? null;
  }

  /** Answers are told apart by their order, so it need not be one that the client does not use. */
  private nextId(): number {
    this.questions = (this.questions + 1) % 2 ** 32;
    return this.questions;
  }
}

function done(event: Done['event'], path: string): Done {
  return { event, path: shownPath(path) };
}

/** Permissions in a packet's attributes, and where they stand; null when there are none. */
function permissionsOf(attributes: Buffer): { mode: number; at: number } | null {
  if (attributes.length < 4) throw new MalformedPacket('no attributes');
  const flags = attributes.readUInt32BE(0);
  const at = 4 + (flags & ATTR.SIZE ? 8 : 0) + (flags & ATTR.OWNER ? 8 : 0);
  const length = at + (flags & ATTR.PERMISSIONS ? 4 : 0) + (flags & ATTR.TIMES ? 8 : 0);
  if (attributes.length < length) throw new MalformedPacket('attributes are cut short');
  return flags & ATTR.PERMISSIONS ? { mode: attributes.readUInt32BE(at), at } : null;
}

function setsId(reader: PacketReader): boolean {
  const found = permissionsOf(reader.rest());
  return found !== null && (found.mode & SET_ID_BITS) !== 0;
}

/** A new file simply does not get those bits. */
function withoutSetId(reader: PacketReader): Buffer {
  const attributes = Buffer.from(reader.rest());
  const found = permissionsOf(attributes);
  if (found) attributes.writeUInt32BE((found.mode & ~SET_ID_BITS) >>> 0, found.at);
  return attributes;
}
