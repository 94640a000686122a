// What lives in a closed network beside the process under test: listeners that count, a name server, and the ways in and out.
import { createSocket } from 'node:dgram';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer } from 'node:net';
import { decode, encode } from 'dns-packet';

const AUTHORITATIVE = 1024;

const { countedPorts, dnsPort, out, into } = JSON.parse(process.argv[2]);
/** How many connections came to each address and port. */
const arrived = {};
/** How many times each name was looked up. */
const lookUps = new Map();

/** Any address is at home here, so one listener is on all of them. */
function serve(port) {
  const server = createHttpServer((request, response) => {
    const [, what, about] = request.url.split('/').map(decodeURIComponent);
    // A connection for each request, so that each is asked for anew.
    response.setHeader('connection', 'close');
    if (what === 'to') return response.writeHead(302, { location: about }).end();
    if (request.url === '/robots.txt') return response.writeHead(404).end();
    const named = what === 'naming' ? about.split(' ') : ['/one', '/two', '/three', '/four'];
    const links = named.map((href) => `<a href="${href}">The page ${href}</a>`);
    response.setHeader('content-type', 'text/html');
    response.end(`<!doctype html><title>${request.url}</title>${links.join(' ')}`);
  });
  server.on('connection', ({ localAddress, localPort }) => {
    const at = `${localAddress.replace(/^::ffff:(?=[\d.]+$)/, '')} ${localPort}`;
    arrived[at] = (arrived[at] ?? 0) + 1;
  });
  return listening(server, { port, host: '::' });
}

/**
 * Names spell what they lead to: `1-2-3-4.5-6-7-8.test` to 1.2.3.4 when it is first asked for and to 5.6.7.8 from then on,
 * `1-2-3-4and5-6-7-8.test` to both.
 */
function answerNames(port) {
  const socket = createSocket('udp4');
  socket.on('message', (message, from) => {
    const { id, questions } = decode(message);
    const [{ name, type }] = questions;
    const times = lookUps.get(`${type} ${name}`) ?? 0;
    lookUps.set(`${type} ${name}`, times + 1);
    const labels = name.toLowerCase().split('.').slice(0, -1);
    const addresses = labels[Math.min(times, labels.length - 1)].split('and').map((text) => text.replaceAll('-', '.'));
    const answers = type === 'A' ? addresses.map((data) => ({ name, type, class: 'IN', ttl: 0, data })) : [];
    const answer = encode({ type: 'response', id, flags: AUTHORITATIVE, questions, answers });
    socket.send(answer, from.port, from.address);
  });
  return new Promise((resolve) => socket.bind(port, '127.0.0.1', resolve));
}

/** Whoever comes to one end is led to the other. */
function forward(from, to) {
  const server = createServer((one) => {
    const other = connect(to);
    one.pipe(other).pipe(one);
    one.on('error', () => other.destroy());
    other.on('error', () => one.destroy());
  });
  return listening(server, from);
}

function listening(server, at) {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(at, resolve);
  });
}

/** Connects as one who asks nobody. */
function knock({ host, port }) {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once('connect', () => resolve('connected')).once('error', ({ code }) => resolve(code));
    socket.once('connect', () => socket.destroy());
  });
}

process.on('disconnect', () => process.exit());
process.on('message', async ({ id, op, ...about }) => {
  process.send({ id, result: op === 'knock' ? await knock(about) : { ...arrived } });
});
await Promise.all([
  ...countedPorts.map(serve),
  answerNames(dnsPort),
  ...out.map(({ port, path }) => forward({ port, host: '127.0.0.1' }, { path })),
  ...into.map(({ port, path }) => forward({ path }, { port, host: '127.0.0.1' })),
]);
process.send({ ready: true });
