import { PassThrough } from 'node:stream';
import { FilesSession } from './files-session.js';
import { packet, REQUEST } from './sftp-protocol.js';

test('what came in one piece is not carried out any further when the connection ends in the midst of it', async () => {
  const connection = new AbortController();
  const [client, stdin, stdout] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const forwarded: number[] = [];
  stdin.on('data', (data: Buffer) => {
    forwarded.push(data[4]!);
    connection.abort();
  });
  const write = packet(REQUEST.WRITE, 1, 'handle', 0, 0, 'text');
  client.write(Buffer.concat([packet(REQUEST.INIT, 3), write, packet(REQUEST.REALPATH, 2, '.'), write]));
  const session = new FilesSession(
    { client, stdin, stdout },
    () => {},
    () => {},
  );
  await session.run(connection.signal);
  client.write(write);
  await new Promise(setImmediate);
  expect(forwarded).toEqual([REQUEST.INIT]);
});
