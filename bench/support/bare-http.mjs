// The yardstick of the vault's benchmarks: Node's own HTTP server that answers the same bytes and does nothing else.
import { createServer } from 'node:http';

const [text, address = '127.0.0.1'] = process.argv.slice(2);
const body = Buffer.from(text);
const server = createServer((_request, response) => {
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', body.length);
  response.end(body);
});
server.listen(0, address, () => process.stdout.write(`${server.address().port}\n`));
