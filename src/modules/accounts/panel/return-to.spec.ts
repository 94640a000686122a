import { localPath } from './return-to.js';

test.each([
  ['/', '/'],
  ['/panel', '/panel'],
  ['/panel/servers?tab=logs#end', '/panel/servers?tab=logs#end'],
  ['/panel/a%20b?x=%2F%2Fevil.example', '/panel/a%20b?x=%2F%2Fevil.example'],
  ['/panel?next=https://evil.example', '/panel?next=https://evil.example'],
  ['/panel/./x/../y', '/panel/y'],
])('%s is followed', (wanted, path) => {
  expect(localPath(wanted)).toBe(path);
});

test.each([
  undefined,
  null,
  7,
  ['/a', '/b'],
  '',
  'panel',
  'https://evil.example',
  'http:evil.example',
  '//evil.example',
  '///evil.example',
  '////evil.example',
  '/\\evil.example',
  '\\/evil.example',
  '\\\\evil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  '/\r\nLocation: //evil.example',
  '/\u0000/evil.example',
  '\t//evil.example',
  ' //evil.example',
  '/ /evil.example',
  '/\u00a0/evil.example',
  '/\u202e/x',
  '/.//evil.example',
  '/..//evil.example',
  '/a/..//evil.example',
  '/%2e%2e//evil.example',
  '/%2e//evil.example',
  '@evil.example',
  '.evil.example',
  'javascript:alert(1)',
  'data:text/html,x',
  `/${'x'.repeat(2000)}`,
  '/panel/api/auth/login',
  '/panel/./api/auth/login?returnTo=/panel/api/auth/login',
])('%j leads to the front page', (wanted) => {
  expect(localPath(wanted)).toBe('/panel');
});
