// The yardstick of the API benchmarks: one Express handler that answers the same JSON and does nothing else.
import express from 'express';

const app = express();
const body = JSON.parse(process.argv[2]);
app.get('/me', (_request, response) => response.json(body));
const server = app.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
