import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { writePrivate } from './layout.mjs';

/**
 * The file with the SFTP server's Ed25519 key, as ssh-keygen writes it; made once, as clients remember it.
 * @param {import('./layout.mjs').Layout} layout
 */
export function sftpHostKeyFile(layout) {
  const file = join(layout.secrets, 'sftp-host-key');
  if (!existsSync(file)) writePrivate(file, openSshKey());
  return file;
}

function openSshKey() {
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const [seed, point] = [Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')];
  const publicKey = Buffer.concat([field('ssh-ed25519'), field(point)]);
  const check = randomBytes(4);
  const secret = Buffer.concat([check, check, publicKey, field(Buffer.concat([seed, point])), field('')]);
  const padding = Buffer.from(Array.from({ length: (8 - (secret.length % 8)) % 8 }, (_, index) => index + 1));
  const body = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    ...[field('none'), field('none'), field('')],
    Buffer.from([0, 0, 0, 1]),
    field(publicKey),
    field(Buffer.concat([secret, padding])),
  ]);
  const lines = body.toString('base64').match(/.{1,70}/g) ?? [];
  return ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join('\n');
}

/** @param {string | Buffer} content */
function field(content) {
  const bytes = Buffer.from(content);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
