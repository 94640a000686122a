/*
 * The part of SFTP version 3 (draft-ietf-secsh-filexfer-02, and OpenSSH's PROTOCOL file) that has to be understood to stand
 * between a client and OpenSSH's server. Text is kept as bytes, one per character: names of files need not be UTF-8.
 */

export const REQUEST = {
  INIT: 1,
  OPEN: 3,
  CLOSE: 4,
  READ: 5,
  WRITE: 6,
  LSTAT: 7,
  FSTAT: 8,
  SETSTAT: 9,
  FSETSTAT: 10,
  OPENDIR: 11,
  READDIR: 12,
  REMOVE: 13,
  MKDIR: 14,
  RMDIR: 15,
  REALPATH: 16,
  STAT: 17,
  RENAME: 18,
  READLINK: 19,
  SYMLINK: 20,
  EXTENDED: 200,
} as const;

export const REPLY = { VERSION: 2, STATUS: 101, HANDLE: 102, NAME: 104, ATTRS: 105 } as const;

export const STATUS = {
  OK: 0,
  NO_SUCH_FILE: 2,
  PERMISSION_DENIED: 3,
  FAILURE: 4,
  BAD_MESSAGE: 5,
  UNSUPPORTED: 8,
} as const;

export const ATTR = { SIZE: 1, OWNER: 2, PERMISSIONS: 4, TIMES: 8 } as const;

/** A packet whose fields do not add up. */
export class MalformedPacket extends Error {}

/** Reads the fields of one packet, its length and type before them. */
export class PacketReader {
  private at = 5;

  constructor(private readonly frame: Buffer) {}

  get type(): number {
    return this.frame[4]!;
  }

  uint32(): number {
    if (this.at + 4 > this.frame.length) throw new MalformedPacket('cut short');
    this.at += 4;
    return this.frame.readUInt32BE(this.at - 4);
  }

  text(): string {
    const length = this.uint32();
    if (this.at + length > this.frame.length) throw new MalformedPacket('cut short');
    this.at += length;
    return this.frame.toString('latin1', this.at - length, this.at);
  }

  rest(): Buffer {
    return this.frame.subarray(this.at);
  }

  get done(): boolean {
    return this.at === this.frame.length;
  }
}

export function packet(type: number, ...fields: (number | string | Buffer)[]): Buffer {
  const parts = fields.flatMap((field) => {
    if (typeof field === 'number') return [uint32(field)];
    if (typeof field !== 'string') return [field];
    return [uint32(field.length), Buffer.from(field, 'latin1')];
  });
  const body = Buffer.concat(parts);
  return Buffer.concat([uint32(body.length + 1), Buffer.from([type]), body]);
}

export function statusReply(id: number, code: number, message: string): Buffer {
  return packet(REPLY.STATUS, id, code, message, 'en');
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
