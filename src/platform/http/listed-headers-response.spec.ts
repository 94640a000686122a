import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { ListedHeadersResponse } from './listed-headers-response.js';

type Handler = (response: ServerResponse) => void;

const HANDLERS: Record<string, Handler> = {
  'a header that is set again in another spelling': (response) => {
    response.setHeader('Cache-Control', 'no-store').setHeader('X-Other', 1).setHeader('cache-control', 'public');
    response.end('body');
  },
  'a header that the beginning of the answer sets again': (response) => {
    response.setHeader('Cache-Control', 'no-store');
    response.writeHead(206, { 'cache-control': 'public', 'Content-Length': 4 }).end('body');
  },
  'a header that is taken back': (response) => {
    response.setHeader('X-First', 'a').setHeader('X-Gone', 'b').setHeader('X-Last', 'c');
    response.removeHeader('x-gone');
    response.removeHeader('x-never-was');
    response.end(
      `${String(response.getHeader('x-last'))} ${response.hasHeader('X-Gone')} ${response.hasHeader('X-FIRST')}`,
    );
  },
  'a header with several values': (response) => response.setHeader('Set-Cookie', ['a=1', 'b=2']).end(),
  'a connection that ends': (response) => response.setHeader('Connection', 'close').end('last'),
  'an answer without a body': (response) => response.writeHead(304, { ETag: '"a"' }).end(),
  'an answer in pieces': (response) => {
    response.setHeader('X-Piece', 'a').write('one');
    response.end('two');
  },
  'a value that is no header': (response) => {
    try {
      response.setHeader('X-Kept', 'a').writeHead(200, { 'X-Bad': 'a\r\nX-Worse: b' });
    } catch {
      response.writeHead(500).end('refused');
    }
  },
};

/** What the handler sends through this server, but for the moment. */
async function answerOf(server: Server, name: string) {
  const { port } = server.address() as AddressInfo;
  const asked = request({ port, host: '127.0.0.1', path: `/${encodeURIComponent(name)}` }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  const headers = answer.rawHeaders.map((header, at) => (answer.rawHeaders[at - 1] === 'Date' ? 'now' : header));
  return { status: answer.statusCode, headers: headers.map(String), body: await text(answer) };
}

describe('an answer that lists its headers', () => {
  const take = ({ url }: IncomingMessage, response: ServerResponse) =>
    HANDLERS[decodeURIComponent(url!.slice(1))]!(response);
  const servers = [createServer(take), createServer({ ServerResponse: ListedHeadersResponse }, take)] as const;

  beforeAll(async () => {
    await Promise.all(servers.map((server) => once(server.listen(0, '127.0.0.1'), 'listening')));
  });

  afterAll(() => {
    for (const server of servers) server.close().closeAllConnections();
  });

  it.each(Object.keys(HANDLERS))('sends what Node would: %s', async (name) => {
    const [nodes, ours] = await Promise.all(servers.map((server) => answerOf(server, name)));
    const sorted = ({ status, headers, body }: typeof ours & object) => {
      const pairs = headers.flatMap((header, at) =>
        at % 2 === 0 ? [`${header.toLowerCase()}: ${headers[at + 1]}`] : [],
      );
      return { status, body, headers: pairs.sort() };
    };
    expect(sorted(ours!)).toEqual(sorted(nodes!));
  });
});
