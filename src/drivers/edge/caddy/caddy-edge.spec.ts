import { CaddyEdge } from './caddy-edge.js';

describe('what Caddy writes about certificates', () => {
  const edge = new CaddyEdge('unix:/nowhere');
  afterAll(() => edge.close());
  const line = (fields: object): string =>
    JSON.stringify({ level: 'error', ts: 1, msg: 'x', error: 'refused', ...fields });

  test.each([
    { logger: 'tls.obtain', identifier: 'WWW.example.test' },
    { logger: 'tls.issuance.acme', identifiers: ['www.example.test'] },
    { logger: 'http.acme_client', domain: 'www.example.test', level: 'warn' },
  ])('is a failure where it was ordered: $logger', (fields) => {
    expect(edge.failureIn(line(fields))).toEqual({ host: 'www.example.test', reason: 'refused' });
  });

  test.each([
    // Any visitor who offers `acme-tls/1` has it written for any name.
    { logger: 'tls', server_name: 'www.example.test', msg: 'tls-alpn challenge' },
    // An authority without OCSP.
    { logger: 'tls', identifiers: ['www.example.test'], level: 'warn', msg: 'stapling OCSP' },
    { logger: 'http.handlers.reverse_proxy', identifier: 'www.example.test' },
    { logger: 'tls.obtain', identifier: 'www.example.test', level: 'info' },
    { logger: 'tls.obtain' },
  ])('is none where a visitor or nobody did it: %j', (fields) => {
    expect(edge.failureIn(line(fields))).toBeNull();
  });

  test('is none where it is no line of a log', () => {
    for (const text of ['', '"error"', '{"error":', 'null "error"']) expect(edge.failureIn(text)).toBeNull();
  });
});
