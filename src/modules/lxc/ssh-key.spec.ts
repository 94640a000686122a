import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { judgeSshKey, KEY_KINDS } from './ssh-key.js';

const field = (bytes: Buffer | string): Buffer => {
  const content = Buffer.from(bytes);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([length, content]);
};
const body = (...fields: (Buffer | string)[]): string => Buffer.concat(fields.map(field)).toString('base64');
const number = (hex: string): Buffer => {
  const bytes = Buffer.from(hex.length % 2 ? `0${hex}` : hex, 'hex');
  return (bytes[0]! & 0x80) === 0 ? bytes : Buffer.concat([Buffer.of(0), bytes]);
};
const base64url = (text: string | undefined): Buffer => Buffer.from(text!, 'base64url');

const POINT = Buffer.alloc(32, 7);
const ED25519 = body('ssh-ed25519', POINT);

function ecPoint(crv: string): Buffer {
  const { x, y } = generateKeyPairSync('ec', { namedCurve: crv }).publicKey.export({ format: 'jwk' });
  return Buffer.concat([Buffer.of(4), base64url(x), base64url(y)]);
}

function rsaParts(bits: number): [e: Buffer, n: Buffer] {
  const key: KeyObject = generateKeyPairSync('rsa', { modulusLength: bits }).publicKey;
  const { e, n } = key.export({ format: 'jwk' });
  return [number(base64url(e).toString('hex')), number(base64url(n).toString('hex'))];
}

const RSA = rsaParts(2048);
const P256 = ecPoint('P-256');
const P256_KEY = body('ecdsa-sha2-nistp256', 'nistp256', P256);

const GOOD: Record<string, string> = {
  'ssh-ed25519': ED25519,
  'ssh-rsa': body('ssh-rsa', ...RSA),
  'ecdsa-sha2-nistp256': P256_KEY,
  'ecdsa-sha2-nistp384': body('ecdsa-sha2-nistp384', 'nistp384', ecPoint('P-384')),
  'ecdsa-sha2-nistp521': body('ecdsa-sha2-nistp521', 'nistp521', ecPoint('P-521')),
  'sk-ssh-ed25519@openssh.com': body('sk-ssh-ed25519@openssh.com', POINT, 'ssh:'),
  'sk-ecdsa-sha2-nistp256@openssh.com': body('sk-ecdsa-sha2-nistp256@openssh.com', 'nistp256', P256, 'ssh:work'),
};

test('every kind there is has its example here', () => {
  expect(Object.keys(GOOD).sort()).toEqual([...KEY_KINDS].sort());
});

test.each(Object.entries(GOOD))('%s is taken, with and without a comment', (kind, text) => {
  for (const line of [
    `${kind} ${text}`,
    `${kind} ${text} ada@example`,
    `${kind} ${text} Ada's own key, 2026 ünïcode`,
  ]) {
    expect([line, judgeSshKey(line)]).toEqual([line, undefined]);
  }
});

const good = `ssh-ed25519 ${ED25519}`;
const offCurve = Buffer.concat([P256.subarray(0, -1), Buffer.of(P256.at(-1)! ^ 1)]);

test.each<[why: string, key: unknown, code: string]>([
  ['no text', 17, 'type'],
  ['nothing', '', 'form'],
  ['a kind alone', 'ssh-ed25519', 'form'],
  ['two lines', `${good}\n${good}`, 'one_line'],
  ['a line break at the end', `${good}\n`, 'one_line'],
  ['a carriage return', `${good}\r`, 'one_line'],
  ['a zero byte', `${good} x\0`, 'one_line'],
  ['a tab between the parts', good.replace(' ', '\t'), 'control_character'],
  ['an escape sequence in the comment', `${good} \u001b[2J`, 'control_character'],
  ['a line separator in the comment', `${good} x\u2028${good}`, 'control_character'],
  ['a direction mark in the comment', `${good} \u202e`, 'control_character'],
  ['half a character', `${good} \ud800`, 'control_character'],
  ['a space before it', ` ${good}`, 'form'],
  ['two spaces', good.replace(' ', '  '), 'form'],
  ['a command', `command="rm -rf /" ${good}`, 'kind'],
  ['an option', `no-pty ${good}`, 'kind'],
  ['a certificate authority', `cert-authority ${good}`, 'kind'],
  ['an old kind', `ssh-dss ${body('ssh-dss', POINT)}`, 'kind'],
  ['a certificate', `ssh-ed25519-cert-v01@openssh.com ${ED25519}`, 'kind'],
  ['a kind that every object has', `constructor ${body('constructor', POINT)}`, 'kind'],
  ['a private key', '-----BEGIN OPENSSH PRIVATE KEY-----', 'kind'],
  ['the kind in capitals', good.toUpperCase(), 'kind'],
  ['a comment without end', `${good} ${'x'.repeat(201)}`, 'comment'],
  ['a line without end', `${good} ${'x'.repeat(9000)}`, 'max_length'],
  ['no base64', 'ssh-ed25519 !!!!', 'encoding'],
  [
    'base64 without its padding',
    `ssh-ed25519 ${body('ssh-ed25519', Buffer.alloc(31)).replace(/={1,2}$/, '')}`,
    'encoding',
  ],
  [
    'base64 of the other alphabet',
    `ssh-ed25519 ${body('ssh-ed25519', Buffer.alloc(32, 255)).replace(/\//g, '_')}`,
    'encoding',
  ],
  ['a body of another kind', `ssh-rsa ${ED25519}`, 'mismatch'],
  ['a body without a kind', `ssh-ed25519 ${POINT.toString('base64')}`, 'mismatch'],
  ['another curve inside', `ecdsa-sha2-nistp256 ${body('ecdsa-sha2-nistp256', 'nistp384', P256)}`, 'mismatch'],
  ['a body cut short', `ssh-ed25519 ${Buffer.from(ED25519, 'base64').subarray(0, -1).toString('base64')}`, 'key_body'],
  ['a point that is too long', `ssh-ed25519 ${body('ssh-ed25519', Buffer.alloc(33))}`, 'key_body'],
  ['something after the key', `ssh-ed25519 ${body('ssh-ed25519', POINT, 'more')}`, 'key_body'],
  [
    'a compressed point',
    `ecdsa-sha2-nistp256 ${body('ecdsa-sha2-nistp256', 'nistp256', Buffer.alloc(33, 2))}`,
    'key_body',
  ],
  ['a point off the curve', `ecdsa-sha2-nistp256 ${body('ecdsa-sha2-nistp256', 'nistp256', offCurve)}`, 'key_body'],
  ['a short modulus', `ssh-rsa ${body('ssh-rsa', ...rsaParts(1024))}`, 'key_size'],
  [
    'an even modulus',
    `ssh-rsa ${body('ssh-rsa', RSA[0], Buffer.concat([RSA[1].subarray(0, -1), Buffer.of(0)]))}`,
    'key_body',
  ],
  ['exponent one', `ssh-rsa ${body('ssh-rsa', Buffer.of(1), RSA[1])}`, 'key_body'],
  ['a negative modulus', `ssh-rsa ${body('ssh-rsa', RSA[0], Buffer.alloc(256, 0xff))}`, 'key_body'],
  [
    'a modulus with needless zeros',
    `ssh-rsa ${body('ssh-rsa', RSA[0], Buffer.concat([Buffer.of(0), RSA[1]]))}`,
    'key_body',
  ],
  [
    'a hardware key for no application',
    `sk-ssh-ed25519@openssh.com ${body('sk-ssh-ed25519@openssh.com', POINT)}`,
    'key_body',
  ],
  [
    'a hardware key for the web',
    `sk-ssh-ed25519@openssh.com ${body('sk-ssh-ed25519@openssh.com', POINT, 'https://x')}`,
    'key_body',
  ],
])('%s is refused', (_why, key, code) => {
  expect(judgeSshKey(key)).toMatchObject({ code });
});
