/** What becomes of a packet, decided by its type: taken out whole, or passed on as it comes. */
export type Fate = 'whole' | 'through';

export interface FrameHandler {
  /** Called once at the start of each packet. Throws to end the session. */
  begin(type: number, length: number): Fate;
  whole(frame: Buffer): Promise<void> | void;
  /** Bytes of packets that are passed on, in order, not cut at packets' ends. */
  through(bytes: Buffer): Promise<void> | void;
  /** All of the packets so far are dealt with; the next byte begins another one. */
  between?(): Promise<void> | void;
}

const HEAD = 5;

/**
 * Cuts a stream of SFTP packets without copying those that only pass: of file contents nothing but the length in front is
 * looked at.
 */
export async function splitFrames(source: AsyncIterable<Buffer>, handler: FrameHandler): Promise<void> {
  let carried: Buffer = Buffer.alloc(0);
  let passing = 0;
  let begun = false;
  for await (const arrived of source) {
    const chunk: Buffer = carried.length > 0 ? Buffer.concat([carried, arrived]) : arrived;
    carried = Buffer.alloc(0);
    // Everything before `at` that was not handed on yet is to be passed on.
    let [from, at] = [0, 0];
    for (;;) {
      const step = Math.min(passing, chunk.length - at);
      at += step;
      passing -= step;
      if (passing > 0 || at === chunk.length) break;
      if (chunk.length - at < HEAD) {
        carried = chunk.subarray(at);
        break;
      }
      const length = chunk.readUInt32BE(at);
      if (!begun && handler.begin(chunk[at + 4]!, length) === 'through') {
        passing = length + 4;
        continue;
      }
      begun = chunk.length - at < length + 4;
      if (begun) {
        carried = chunk.subarray(at);
        break;
      }
      if (at > from) await handler.through(chunk.subarray(from, at));
      await handler.whole(chunk.subarray(at, at + length + 4));
      at += length + 4;
      from = at;
    }
    if (at > from) await handler.through(chunk.subarray(from, at));
    if (passing === 0) await handler.between?.();
  }
}
