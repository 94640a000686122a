/** What can stand in a length-prefixed text: numbers become 64 bits, booleans one byte. */
export type Field = string | Buffer | number | boolean;

/**
 * Fields as bytes that no other list of fields has: each goes with its length before it. Joined by a separator, `a|b` and
 * `a`, `b` would be the same, and a code over one would hold for the other.
 */
export function lengthPrefixed(...fields: readonly Field[]): Buffer {
  const parts = fields.flatMap((field) => {
    const bytes = bytesOf(field);
    const length = Buffer.allocUnsafe(4);
    length.writeUInt32BE(bytes.length);
    return [length, bytes];
  });
  return Buffer.concat(parts);
}

function bytesOf(field: Field): Buffer {
  if (typeof field === 'string') return Buffer.from(field, 'utf8');
  if (typeof field === 'boolean') return Buffer.from([field ? 1 : 0]);
  if (typeof field !== 'number') return field;
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64BE(BigInt(field));
  return bytes;
}
