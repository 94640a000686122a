import { ConfigError, loadConfig } from './config.js';

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
