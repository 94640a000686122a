import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { bytesPass } from './passing-bytes.js';

export interface AnswerPace {
  /** What a client has to take ... */
  bytes: number;
  /** ... each time this has passed. */
  withinMs: number;
}

/**
 * What leaves is seen in steps: of a piece, and of a third of what the kernel holds for the connection. On a slow line that is
 * little, and a client that takes 1 KiB/s needs a minute for either; hence two. On loopback it is more than a megabyte, so
 * behind a proxy there that does not buffer, it is below some 16 KiB/s that a client looks as if it took nothing.
 */
export const DOWNLOAD_PACE: AnswerPace = { bytes: 60 * 1024, withinMs: 120_000 };

/** That a piece has left is known once all of it has, so it is no larger than what a slow client takes in time. */
const PIECE_BYTES = 64 * 1024;
/** How often we look, within the time that a client has. */
const LOOKS = 8;

/**
 * Answers with what is read from a store, as fast as it is taken and no faster. A client that takes too little is cut off: for
 * as long as it stays, the store keeps what it reads, even if that has been deleted. How long the store needs does not count.
 * Whatever the outcome, nothing is read any more after it.
 */
export async function sendPaced(body: Readable, response: ServerResponse, pace = DOWNLOAD_PACE): Promise<void> {
  // An answer that waits for those before it has no connection yet, and is not told when that ends.
  const connection = response.req.socket;
  const cut = Promise.withResolvers<never>();
  const leave = (): void => cut.reject(new Error('the client went away before it had its answer'));
  const taken = (): number => connection.bytesWritten - connection.writableLength;
  let [from, looks] = [taken(), 0];
  const look = (): void => {
    looks++;
    const now = taken();
    if (response.writableLength === 0 || now - from >= pace.bytes) {
      [from, looks] = [now, 0];
    } else if (looks >= LOOKS) {
      cut.reject(new Error('the client takes too little of its answer'));
      connection.destroy();
    }
  };
  const timer = setInterval(look, pace.withinMs / LOOKS);
  connection.once('close', leave);
  if (connection.destroyed) leave();
  try {
    await Promise.race([cut.promise, pipeline(body, pieces, response)]);
  } finally {
    clearInterval(timer);
    connection.off('close', leave);
    body.destroy();
  }
}

async function* pieces(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of body) {
    bytesPass(chunk.length);
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) yield chunk.subarray(at, at + PIECE_BYTES);
  }
}
