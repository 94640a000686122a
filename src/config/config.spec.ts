import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { ConfigError, loadConfig, readCertificates } from './config.js';

const load = (environment: Record<string, string>) => () => loadConfig(environment, '/dev/null');

test('what tenants make public never stands at the origin of the panel', () => {
  expect(load({})).not.toThrow();
  expect(load({ PUBLIC_URL: 'https://berth.example', CDN_URL: 'https://objects.example' })).not.toThrow();
  for (const CDN_URL of ['https://berth.example', 'https://berth.example:443/objects']) {
    expect(load({ PUBLIC_URL: 'https://berth.example/', CDN_URL })).toThrow(ConfigError);
  }
});

test('the object store is a folder or a bucket', () => {
  for (const OBJECT_STORE_URL of ['file:///var/lib/objects', 's3://bucket/prefix']) {
    expect(loadConfig({ OBJECT_STORE_URL }, '/dev/null').objectStoreUrl).toBe(OBJECT_STORE_URL);
  }
  expect(load({ OBJECT_STORE_URL: 'https://bucket.example' })).toThrow(/OBJECT_STORE_URL must be/);
});

test('a file of certificates is read, or refused by the name of its setting', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-config-'));
  const read = (content?: string): string | undefined => {
    const ACME_CA_FILE = join(folder, content === undefined ? 'none' : 'ca.pem');
    if (content !== undefined) writeFileSync(ACME_CA_FILE, content);
    return readCertificates(loadConfig({ ACME_CA_FILE }, '/dev/null'), 'acmeCaFile');
  };
  try {
    expect(readCertificates(loadConfig({}, '/dev/null'), 'acmeCaFile')).toBeUndefined();
    const two = rootCertificates.slice(0, 2).join('\n');
    expect(read(two)).toBe(two);
    const broken = two.replace(/\n[\w+/]{20}/, '\nAAAAAAAAAAAAAAAAAAAA');
    for (const content of [undefined, '', 'no certificate', broken]) {
      expect(() => read(content)).toThrow(ConfigError);
      expect(() => read(content)).toThrow(/ACME_CA_FILE/);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
