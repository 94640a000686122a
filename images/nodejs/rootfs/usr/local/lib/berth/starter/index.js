// A small web server to begin with: replace it by your own program.
const { createServer } = require('node:http');

const port = Number(process.env.SERVER_PORT || 3000);

const server = createServer((request, response) => {
  response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  response.end('Hello from your Node.js service\n');
});

server.listen(port, () => console.log(`Ready on port ${port}`));

process.on('SIGTERM', () => {
  console.log('Stopping');
  server.closeAllConnections();
  server.close(() => process.exit(0));
});
