import type { ServerResponse } from 'node:http';

/** What is answered with: `read` fills the front of `into` and answers with how many bytes came, 0 at the end. */
export interface AnswerSource {
  read(into: Buffer): Promise<number>;
  /** False once it has been deleted, and is there only for as long as it is read. */
  stillThere(): Promise<boolean>;
  /** May come while a `read` is under way. */
  close(): Promise<void>;
}

export interface AnswerPace {
  /** What a client has to take ... */
  bytes: number;
  /** ... each time this has passed. */
  withinMs: number;
  /** How long what has been deleted meanwhile is sent on. */
  goneMs: number;
}

/**
 * What leaves is seen in steps: of a piece, and of a third of what the kernel holds for the connection. On a slow line that is
 * little, and a client that takes 1 KiB/s needs a minute for either; hence two. On loopback it is more than a megabyte, so
 * behind a proxy there that does not buffer, it is below some 16 KiB/s that a client looks as if it took nothing.
 */
export const DOWNLOAD_PACE: AnswerPace = { bytes: 60 * 1024, withinMs: 120_000, goneMs: 120_000 };

/** That a piece has left is known once all of it has, so it is no larger than what a slow client takes in time. */
const PIECE_BYTES = 64 * 1024;
/** Twice as much is in memory for each answer. Who takes what was read at once has more read the next time: that is less work. */
const READ_BYTES = { least: 64 * 1024, most: 256 * 1024 };
/** What all answers of the process have beyond the least. */
const ROOM_BYTES = 64 * 1024 * 1024;
const AT_ONCE_MS = 50;
const SLOW_MS = 1000;
/** How often we look, within the time that a client has. */
const LOOKS = 8;

/**
 * Answers with what is read from a store, as fast as it is taken and no faster. For as long as a client stays, the
 * store keeps what it reads, even if that has been deleted: one that takes too little is cut off, and so is one that still
 * reads what was deleted a while ago. How long the store needs does not count. Whatever the outcome, the source is closed
 * after it.
 */
export async function sendPaced(source: AnswerSource, response: ServerResponse, pace = DOWNLOAD_PACE): Promise<void> {
  // An answer that waits for those before it has no connection yet, and is not told when that ends.
  const connection = response.req.socket;
  const cut = Promise.withResolvers<never>();
  const leave = (): void => cut.reject(new Error('the client went away before it had its answer'));
  const taken = (): number => connection.bytesWritten - connection.writableLength;
  const end = (why: string): void => {
    cut.reject(new Error(why));
    connection.destroy();
  };
  const isGone = goneFor(source, pace.goneMs);
  let over = false;
  let [from, looks] = [taken(), 0];
  const look = (): void => {
    void isGone().then((gone) => gone && !over && end('what is answered with was deleted'));
    looks++;
    const now = taken();
    if (response.writableLength === 0 || now - from >= pace.bytes) {
      [from, looks] = [now, 0];
    } else if (looks >= LOOKS) {
      end('the client takes too little of its answer');
    }
  };
  const timer = setInterval(look, pace.withinMs / LOOKS);
  connection.once('close', leave);
  if (connection.destroyed) leave();
  const size = new ReadSize();
  const sent = sendPieces(source, response, size);
  sent.catch(() => undefined);
  try {
    await Promise.race([cut.promise, sent]);
  } finally {
    over = true;
    size.shrink();
    clearInterval(timer);
    connection.off('close', leave);
    await source.close();
  }
}

/** Tells whether the source has been gone for so long, as far as who asks now and then can see. */
function goneFor(source: AnswerSource, goneMs: number): () => Promise<boolean> {
  let since: number | undefined;
  return async () => {
    // What cannot tell has failed, which its next reading tells.
    if (await source.stillThere().catch(() => true)) return false;
    since ??= performance.now();
    return performance.now() - since >= goneMs;
  };
}

let roomTaken = 0;

/** How much is read at once for one answer. */
class ReadSize {
  bytes = READ_BYTES.least;

  grow(): void {
    if (this.bytes >= READ_BYTES.most || roomTaken + 2 * this.bytes > ROOM_BYTES) return;
    roomTaken += 2 * this.bytes;
    this.bytes *= 2;
  }

  shrink(): void {
    roomTaken -= 2 * (this.bytes - READ_BYTES.least);
    this.bytes = READ_BYTES.least;
  }
}

/** More is read while what was read before leaves, each into memory that is used over and over. */
async function sendPieces(source: AnswerSource, response: ServerResponse, size: ReadSize): Promise<void> {
  let [ahead, leaving] = [Buffer.alloc(0), Buffer.alloc(0)];
  const readAhead = (): Promise<number> => {
    if (ahead.length !== size.bytes) ahead = Buffer.allocUnsafeSlow(size.bytes);
    const reading = source.read(ahead);
    // Whoever is cut off meanwhile asks for it no more.
    reading.catch(() => undefined);
    return reading;
  };
  for (let reading = readAhead(); ;) {
    const bytes = await reading;
    if (bytes === 0) break;
    [ahead, leaving] = [leaving, ahead];
    reading = readAhead();
    const began = performance.now();
    for (let at = 0; at < bytes; at += PIECE_BYTES) {
      await written(response, leaving.subarray(at, Math.min(bytes, at + PIECE_BYTES)));
    }
    const took = performance.now() - began;
    if (took < AT_ONCE_MS) size.grow();
    else if (took > SLOW_MS) size.shrink();
  }
  await new Promise<void>((resolve) => response.end(resolve));
}

/** Once the kernel has it, so that its memory may be used for something else. */
function written(response: ServerResponse, piece: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    response.write(piece, (error) => (error ? reject(error) : resolve()));
  });
}
