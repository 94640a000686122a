import { requestTarget } from './request-target.js';

test.each<[sent: string, url: string, authority: string | undefined]>([
  ['/', '/', undefined],
  ['/a?b=http://c/', '/a?b=http://c/', undefined],
  ['//host/a', '//host/a', undefined],
  ['*', '*', undefined],
  ['http://Host:80/a?b', '/a?b', 'Host:80'],
  ['HTTPS://host', '/', 'host'],
  ['http://host?a', '/?a', 'host'],
  ['http:///a', '/a', ''],
  ['http://user@host/', '/', 'user@host'],
  ['ftp://host/', 'ftp://host/', undefined],
])('%s', (sent, url, authority) => {
  expect(requestTarget(sent)).toEqual({ url, authority });
});
