import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { openValue, sealValue, secretKeyOf } from '../dist/src/platform/crypto/value-cipher.js';
import { median } from './support/berth.mjs';

const ROUNDS = 7;
const TIMES = 5000;

export const name = 'Encrypting and opening one secret, against AES-256-GCM alone';

export async function run() {
  const seed = secretKeyOf(randomBytes(32));
  const place = { scope: 'srv:srv_x', key: 'DATABASE_PASSWORD', version: 3, sealed: true, generation: 1 };
  const value = Buffer.from(randomBytes(24).toString('hex'));
  const blob = sealValue(seed, place, value);
  const key = randomBytes(32);
  const plain = bareSeal(key, value);
  const work = {
    seal: () => sealValue(seed, place, value),
    open: () => openValue(seed, place, blob),
    bareSeal: () => bareSeal(key, value),
    bareOpen: () => bareOpen(key, plain),
  };
  const micros = Object.fromEntries(Object.keys(work).map((what) => [what, []]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [what, once] of Object.entries(work)) {
      const started = performance.now();
      for (let time = 0; time < TIMES; time++) once();
      if (round > 0) micros[what].push(((performance.now() - started) * 1000) / TIMES);
    }
  }
  const row = (what, ours, yardstick) => ({
    what,
    unit: 'microseconds',
    ours,
    yardstick,
    ratio: ours / yardstick,
    target: '<= 4',
  });
  return [
    row('vault: encrypt one secret of 48 bytes', median(micros.seal), median(micros.bareSeal)),
    row('vault: open one secret of 48 bytes', median(micros.open), median(micros.bareOpen)),
  ];
}

function bareSeal(key, value) {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: 16 });
  return { nonce, sealed: Buffer.concat([cipher.update(value), cipher.final()]), tag: cipher.getAuthTag() };
}

function bareOpen(key, { nonce, sealed, tag }) {
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: 16 }).setAuthTag(tag);
  return Buffer.concat([decipher.update(sealed), decipher.final()]);
}
