import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { refusalOf } from './request-rules.js';

const HERE = { gateway: '10.9.0.1', port: 7458 };

function refused(headers: [string, string][], first: { method?: string; url?: string } = {}): string | null {
  const request = { method: 'GET', url: '/v1/secrets', rawHeaders: headers.flat(), ...first } as IncomingMessage;
  const refusal = refusalOf(request, HERE);
  return refusal && `${refusal.status} ${refusal.reason}`;
}

const HOST: [string, string] = ['Host', '10.9.0.1:7458'];

describe('a request to the broker', () => {
  test.each(['10.9.0.1', '10.9.0.1:7458'])('names the gateway by its number: %s', (host) => {
    expect(refused([['hOsT', host]])).toBeNull();
  });

  test.each([
    'localhost',
    'gateway',
    'vault.example:7458',
    '10.9.0.1.nip.io',
    '10.9.0.1.',
    '10.9.1',
    '168361985',
    '0x0a090001',
    '127.0.0.1:7458',
    '10.9.0.1:80',
    '10.9.0.1:07458',
    '10.9.0.1@10.9.0.2',
    '[::ffff:10.9.0.1]:7458',
    '',
  ])('is refused for the host %j', (host) => expect(refused([['Host', host]])).toBe('403 host'));

  test('has one Host header', () => {
    expect(refused([])).toBe('403 host');
    expect(refused([HOST, HOST])).toBe('403 host');
    expect(refused([HOST, ['Host', 'evil.example']])).toBe('403 host');
  });

  test.each(['X-Forwarded-For', 'x-forwarded-host', 'X-FORWARDED-PROTO', 'Forwarded', 'Via', 'X-Real-IP'])(
    'is refused when it was passed on: %s',
    (name) => {
      expect(refused([HOST, [name, '10.9.0.1']])).toBe('403 forwarded');
      expect(refused([[name, ''], HOST])).toBe('403 forwarded');
    },
  );

  test.each(['Origin', 'Sec-Fetch-Site', 'sec-fetch-site'])('is refused to web pages: %s', (name) => {
    expect(refused([HOST, [name, 'same-origin']])).toBe('403 browser');
  });

  test("is answered to a program's own fetch", async () => {
    let refusal: unknown = 'none asked';
    const server = createServer((request, response) => {
      refusal = refusalOf(request, { gateway: '127.0.0.1', port: (server.address() as AddressInfo).port });
      response.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/secrets`);
    server.close();
    expect(refusal).toBeNull();
  });

  test.each(['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'QUERY', 'get'])('only reads: %s', (method) => {
    expect(refused([HOST], { method })).toBe('405 method');
  });

  test('may be a HEAD', () => expect(refused([HOST], { method: 'HEAD' })).toBeNull());

  test.each(['http://10.9.0.1:7458/v1/secrets', '*', '10.9.0.2:443', 'v1/secrets'])('asks for a path: %s', (url) => {
    expect(refused([HOST], { url })).toBe('400 target');
  });
});
