import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, type Config } from '../../../src/config/config.js';
import { createKeyProvider } from '../../../src/platform/crypto/key-provider.factory.js';
import { contextBytes, WrongKey, type KeyProvider } from '../../../src/platform/crypto/key-provider.js';
import { newKey, readKeyring, writeKeyring } from '../../../src/platform/crypto/key-providers/keyring.js';
import { LocalKeyProvider } from '../../../src/platform/crypto/key-providers/local-key-provider.js';
import { FakeKms, FakeTransit } from './fake-kms.js';

const folder = mkdtempSync(join(tmpdir(), 'berth-keys-'));
const file = (name: string): string => join(folder, name);
const CONTEXT = { app: 'evault', v: '1', purpose: 'dek', scope: 'srv:srv_a', gen: '1' };

let transit: FakeTransit;
let kms: FakeKms;

beforeAll(async () => {
  [transit, kms] = await Promise.all([new FakeTransit().start(), new FakeKms().start()]);
  // Where the SDK looks first; the fake only checks that a request is signed.
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'AKIATEST', AWS_SECRET_ACCESS_KEY: 'secret' });
  writeFileSync(file('transit-token'), 's.first\n', { mode: 0o600 });
  writeFileSync(file('secret-id'), 'the-secret-id\n', { mode: 0o600 });
  writeKeyring(file('keyring'), [newKey()]);
});
afterAll(async () => {
  await Promise.all([transit?.close(), kms?.close()]);
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  for (const fake of [transit, kms]) fake.failing = null;
});

function settings(given: Record<string, string>): Config {
  return loadConfig(given, '/dev/null');
}

const TRANSIT = (): Record<string, string> => ({
  KEY_PROVIDER: 'vault-transit',
  TRANSIT_URL: transit.url,
  TRANSIT_KEY: 'berth',
});

const KINDS: Record<string, () => Promise<KeyProvider>> = {
  local: () => createKeyProvider(settings({ MASTER_KEY_FILE: file('keyring') })),
  'vault-transit': () => createKeyProvider(settings({ ...TRANSIT(), TRANSIT_TOKEN_FILE: file('transit-token') })),
  'aws-kms': () =>
    createKeyProvider(
      settings({ KEY_PROVIDER: 'aws-kms', KMS_KEY_ID: 'alias/berth', KMS_REGION: 'eu-test-1', KMS_ENDPOINT: kms.url }),
    ),
};

describe.each(Object.keys(KINDS))('V-11: %s', (kind) => {
  let provider: KeyProvider;
  const key = randomBytes(32);

  beforeAll(async () => (provider = await KINDS[kind]!()));

  test('gives back what it wrapped, under the key it calls the current one', async () => {
    expect(provider.kind).toBe(kind);
    const wrapped = await provider.wrap(key, CONTEXT);
    expect(wrapped.keyId).toBe(await provider.currentKeyId());
    expect(wrapped.blob.includes(key)).toBe(false);
    expect(await provider.unwrap(wrapped, { ...CONTEXT })).toEqual(key);
    await expect(provider.check()).resolves.toBeUndefined();
  });

  test.each<[string, Record<string, string>]>([
    ['another scope', { ...CONTEXT, scope: 'srv:srv_b' }],
    ['another generation', { ...CONTEXT, gen: '2' }],
    ['another purpose', { ...CONTEXT, purpose: 'head' }],
    ['a field less', { app: 'evault', v: '1', purpose: 'dek', scope: 'srv:srv_a' }],
    ['a field more', { ...CONTEXT, more: '' }],
    ['another case', { ...CONTEXT, scope: 'SRV:srv_a' }],
  ])('does not open for %s', async (_name, context) => {
    const wrapped = await provider.wrap(key, CONTEXT);
    await expect(provider.unwrap(wrapped, context)).rejects.toThrow(WrongKey);
  });

  test('does not open what was changed, cut, or wrapped by a key that is not ours', async () => {
    const { keyId, blob } = await provider.wrap(key, CONTEXT);
    const changed = Buffer.from(blob);
    changed[changed.length - 1]! ^= 1;
    for (const wrong of [changed, blob.subarray(0, 20), Buffer.alloc(0)])
      await expect(provider.unwrap({ keyId, blob: wrong }, CONTEXT)).rejects.toThrow(WrongKey);
    await expect(provider.unwrap({ keyId: `${keyId}0`, blob }, CONTEXT)).rejects.toThrow(WrongKey);
  });
});

test('the context is the same bytes whatever order its fields came in', () => {
  expect(contextBytes({ b: '2', a: '1' })).toEqual(contextBytes({ a: '1', b: '2' }));
  expect(contextBytes({ a: '12' })).not.toEqual(contextBytes({ a: '1', '2': '' }));
});

describe.each(['vault-transit', 'aws-kms'])('%s that is away', (kind) => {
  test.each([500, 503])('is a 503, and no other provider takes its place: %i', async (status) => {
    const provider = await KINDS[kind]!();
    const wrapped = await provider.wrap(randomBytes(32), CONTEXT);
    (kind === 'aws-kms' ? kms : transit).failing = status;
    const away = expect.objectContaining({ kind: 'unavailable', code: 'key_provider_unavailable' });
    await expect(provider.wrap(randomBytes(32), CONTEXT)).rejects.toEqual(away);
    await expect(provider.unwrap(wrapped, CONTEXT)).rejects.toEqual(away);
    await expect(provider.check()).rejects.toEqual(away);
  });
});

describe('vault-transit', () => {
  test('authenticates the context, and logs in by AppRole, again when its token has ended', async () => {
    const ROLE = { TRANSIT_ROLE_ID: 'role', TRANSIT_SECRET_ID_FILE: file('secret-id') };
    const provider = await createKeyProvider(settings({ ...TRANSIT(), ...ROLE }));
    await provider.wrap(randomBytes(32), CONTEXT);
    expect(transit.requests.at(-1)!.body.associated_data).toBe(contextBytes(CONTEXT).toString('base64'));
    transit.token = 's.second';
    await provider.wrap(randomBytes(32), CONTEXT);
    expect(transit.logins).toBe(2);
    transit.token = 's.first';
  });

  test('a newer version of the key is the current one; a retired one opens nothing', async () => {
    const provider = await KINDS['vault-transit']!();
    const old = await provider.wrap(randomBytes(32), CONTEXT);
    transit.version = 2;
    const fresh = await (await KINDS['vault-transit']!()).wrap(randomBytes(32), CONTEXT);
    expect([old.keyId, fresh.keyId]).toEqual(['v1', 'v2']);
    await expect(provider.unwrap(old, CONTEXT)).resolves.toHaveLength(32);
    transit.minimum = 2;
    await expect(provider.unwrap(old, CONTEXT)).rejects.toThrow(WrongKey);
    Object.assign(transit, { version: 1, minimum: 1 });
  });

  test('needs a way to log in', async () => {
    await expect(createKeyProvider(settings(TRANSIT()))).rejects.toThrow(/TRANSIT_ROLE_ID is missing/);
  });
});

describe('aws-kms', () => {
  test('sends the context, and names the key itself when it opens', async () => {
    const provider = await KINDS['aws-kms']!();
    const wrapped = await provider.wrap(randomBytes(32), CONTEXT);
    await provider.unwrap(wrapped, CONTEXT);
    expect(kms.requests.at(-1)!.body).toMatchObject({ KeyId: wrapped.keyId, EncryptionContext: CONTEXT });
    expect(wrapped.keyId).toMatch(/^arn:aws:kms:/);
  });

  test('opens what the key before wrapped only where that is named', async () => {
    const wrapped = await (await KINDS['aws-kms']!()).wrap(randomBytes(32), CONTEXT);
    kms.aliases = { 'alias/new': `${wrapped.keyId.slice(0, -3)}two`, 'alias/berth': wrapped.keyId };
    const base = { KEY_PROVIDER: 'aws-kms', KMS_KEY_ID: 'alias/new', KMS_REGION: 'eu-test-1', KMS_ENDPOINT: kms.url };
    await expect((await createKeyProvider(settings(base))).unwrap(wrapped, CONTEXT)).rejects.toThrow(WrongKey);
    const both = await createKeyProvider(settings({ ...base, KMS_PREVIOUS_KEY_ID: 'alias/berth' }));
    await expect(both.unwrap(wrapped, CONTEXT)).resolves.toHaveLength(32);
    expect((await both.wrap(randomBytes(32), CONTEXT)).keyId).not.toBe(wrapped.keyId);
  });
});

describe('the local keyring', () => {
  function ring(name: string, text = `k1 ${randomBytes(32).toString('base64')}\n`, mode = 0o600): string {
    writeFileSync(file(name), text, { mode });
    chmodSync(file(name), mode);
    return file(name);
  }

  const line = (id: string): string => `${id} ${randomBytes(32).toString('base64')}\n`;

  test.each([0o640, 0o604, 0o660, 0o601, 0o644, 0o620])('of mode %o is refused', async (mode) => {
    const config = settings({ MASTER_KEY_FILE: ring(`mode-${mode}`, undefined, mode) });
    await expect(createKeyProvider(config)).rejects.toThrow('must have mode 0600');
  });

  test('of another user is refused', () => {
    const path = ring('foreign');
    if (process.getuid!() !== 0) return;
    chownSync(path, 65_534, 65_534);
    expect(() => readKeyring(path)).toThrow('must belong to the user of the process');
  });

  test('among the backups is refused, by whatever path it is named', async () => {
    mkdirSync(file('backups/deep'), { recursive: true });
    const inside = ring('backups/deep/keyring');
    symlinkSync(inside, file('link'));
    for (const path of [inside, file('link')]) {
      const config = settings({ MASTER_KEY_FILE: path, OBJECT_STORE_URL: `file:${file('backups')}` });
      await expect(createKeyProvider(config)).rejects.toThrow('lies in a folder of data');
    }
  });

  test.each([
    ['no key', '# nothing\n\n', 'holds no key'],
    ['a short key', `k1 ${randomBytes(16).toString('base64')}\n`, 'holds a line that is no key'],
    ['an id with a space', `k 1 ${randomBytes(32).toString('base64')}\n`, 'holds a line that is no key'],
    ['three keys', line('a') + line('b') + line('c'), 'holds more than 2 keys'],
    ['one id twice', line('a') + line('a'), 'holds two keys of one id'],
  ])('with %s is refused', (name, text, why) => {
    expect(() => readKeyring(ring(name.replaceAll(' ', '-'), text))).toThrow(why);
    expect(() => readKeyring(ring(name.replaceAll(' ', '-'), text))).not.toThrow(text.split(' ').at(-1)!.trim());
  });

  test('that is missing is named', async () => {
    await expect(createKeyProvider(settings({ MASTER_KEY_FILE: file('none') }))).rejects.toThrow('MASTER_KEY_FILE');
    await expect(createKeyProvider(settings({}))).rejects.toThrow('MASTER_KEY_FILE is missing');
  });

  test('changes while it is in use: a key that is staged, promoted, and the old one retired', async () => {
    const path = file('changing');
    const [first, second] = [newKey(), newKey()];
    writeKeyring(path, [first]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const provider = new LocalKeyProvider(path);
    const old = await provider.wrap(randomBytes(32), CONTEXT);
    writeKeyring(path, [first, second]);
    expect(await provider.currentKeyId()).toBe(first.id);
    writeKeyring(path, [second, first]);
    const fresh = await provider.wrap(randomBytes(32), CONTEXT);
    expect(fresh.keyId).toBe(second.id);
    await expect(provider.unwrap(old, CONTEXT)).resolves.toHaveLength(32);
    writeKeyring(path, [second]);
    await expect(provider.unwrap(old, CONTEXT)).rejects.toThrow(WrongKey);
    await expect(provider.unwrap(fresh, CONTEXT)).resolves.toHaveLength(32);
    chmodSync(path, 0o644);
    writeFileSync(path, line('x'));
    await expect(provider.wrap(randomBytes(32), CONTEXT)).rejects.toMatchObject({ code: 'key_provider_unavailable' });
  });
});
