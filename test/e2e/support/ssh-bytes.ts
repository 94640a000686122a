import { randomBytes } from 'node:crypto';

/** A packet with a type and lengths that may mean anything. */
export function oddPacket(): Buffer {
  const body = randomBytes(Math.floor(Math.random() * 60));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length + 1);
  // There are requests 1 to 20 and 200.
  head[4] = Math.floor(Math.random() * (Math.random() < 0.9 ? 21 : 256));
  return Buffer.concat([head, body]);
}

/** The ten lists of a KEXINIT packet; null as long as it has not arrived. */
export function kexLists(bytes: Buffer): string[][] | null {
  const start = bytes.indexOf('\r\n') + 2;
  if (start < 2 || bytes.length < start + 4) return null;
  const length = bytes.readUInt32BE(start);
  if (bytes.length < start + 4 + length) return null;
  const payload = bytes.subarray(start + 5);
  expect(payload[0]).toBe(20);
  const lists: string[][] = [];
  for (let at = 17; lists.length < 10;) {
    const size = payload.readUInt32BE(at);
    lists.push(payload.toString('latin1', at + 4, at + 4 + size).split(','));
    at += 4 + size;
  }
  return lists;
}
