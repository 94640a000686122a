import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import WebSocket from 'ws';
import { EngineError } from '../engine.js';
import type { LxdEndpoint } from './lxd-endpoint.js';

const HANDSHAKE_MS = 5000;
/** Several of the engine's messages: to hold it up after each would cost more than the room. */
const READ_AHEAD_BYTES = 512 * 1024;

/** One of the streams of a running operation; the engine hands out a secret for each. */
export async function openStream(
  endpoint: LxdEndpoint,
  operation: string,
  secret: string | undefined,
): Promise<WebSocket> {
  if (secret === undefined) throw new EngineError('failed', 'The engine did not offer all streams of the operation');
  const url = endpoint.webSocketUrl(`${operation.split('?')[0]}/websocket?secret=${encodeURIComponent(secret)}`);
  const socket = new WebSocket(url, {
    ...endpoint.webSocketOptions,
    handshakeTimeout: HANDSHAKE_MS,
    perMessageDeflate: false,
    // The engine asks for no answer to its pings. One that is written when it has closed its end would take with it all that
    // was sent and is not read yet.
    autoPong: false,
    // Masks keep browsers' scripts from talking to proxies in between. Here are neither, and an empty one costs nothing.
    generateMask: (mask: Buffer) => void mask.fill(0),
  });
  // What is sent at once must not be lost before somebody reads.
  socket.once('open', () => socket.pause());
  try {
    await once(socket, 'open');
  } catch (error) {
    throw new EngineError('unavailable', 'A stream of the engine cannot be opened', { cause: error });
  }
  socket.on('error', () => socket.terminate());
  return socket;
}

/**
 * What the engine sends: bytes in binary messages, and a text message at the end. Reading slowly slows the sender down. A
 * connection that is closed without that message broke off, and whoever reads gets an error.
 */
export function readableOf(socket: WebSocket): Readable {
  const stream = new Readable({
    highWaterMark: READ_AHEAD_BYTES,
    read: () => socket.resume(),
    destroy: (error, done) => {
      socket.terminate();
      done(error);
    },
  });
  // What nobody reads may break off unheard.
  stream.on('error', () => {});
  let ended = false;
  socket.on('message', (data, binary) => {
    if (ended || stream.destroyed) return;
    ended = !binary;
    if (!stream.push(ended ? null : data)) socket.pause();
  });
  socket.on('close', () => {
    if (ended) return;
    ended = true;
    stream.destroy(new EngineError('unavailable', 'A stream of the engine broke off'));
  });
  return stream;
}

/** What the engine is sent: bytes in binary messages, and a text message at the end. */
export function writableOf(socket: WebSocket): Writable {
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      // A program may end without having read everything; how it ended is told by its exit code.
      socket.send(chunk, { binary: true }, () => done());
    },
    final: (done) => {
      if (socket.readyState !== WebSocket.OPEN) return done();
      socket.send('', { binary: false }, () => {
        socket.close();
        done();
      });
    },
    destroy: (error, done) => {
      socket.terminate();
      done(error);
    },
  });
  socket.resume();
  socket.on('close', () => stream.destroy());
  return stream;
}
