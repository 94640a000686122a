import { hashOfToken, newRuntimeToken, tokenIn } from './runtime-token.js';

const TOKEN = `evt_${'0a'.repeat(24)}`;

test('a new token has the shape of the contract', () => {
  const { token, prefix, hash } = newRuntimeToken();
  expect(token).toMatch(/^evt_[0-9a-f]{48}$/);
  expect(prefix).toBe(token.slice(0, 12));
  expect(hash).toBe(hashOfToken(token).toString('hex'));
  expect(tokenIn(`Bearer ${token}`)).toBe(token);
});

test.each(['Bearer', 'bearer', 'BEARER', 'bEaReR'])('the scheme may be written %s', (scheme) => {
  expect(tokenIn(`${scheme} ${TOKEN}`)).toBe(TOKEN);
});

test.each([
  undefined,
  '',
  'Bearer',
  'Bearer ',
  TOKEN,
  `Basic ${TOKEN}`,
  `Bearer  ${TOKEN}`,
  `Bearer\t${TOKEN}`,
  `Bearer ${TOKEN} `,
  `Bearer ${TOKEN.toUpperCase()}`,
  `Bearer EVT_${TOKEN.slice(4)}`,
  `Bearer ${TOKEN}0`,
])('%j holds no token', (authorization) => {
  expect(tokenIn(authorization)).toBeNull();
});
