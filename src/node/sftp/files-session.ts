import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { splitFrames, type Fate } from './frame-splitter.js';
import { RequestRules, type Done, type Outcome } from './request-rules.js';
import { MalformedPacket, REPLY, REQUEST, STATUS, statusReply } from './sftp-protocol.js';

/** Packets of file contents; OpenSSH takes and sends 256 KiB at most. */
const LONGEST_THROUGH = 256 * 1024 + 64;
const LONGEST_WHOLE = 64 * 1024;
const LONGEST_ANSWER = 1024 * 1024;
/** Requests that were sent and not answered: beyond it the client has to wait. */
const MOST_PENDING = 1024;

/** Requests by handle: handles are the server's own, and what they stand for was judged when they were given out. */
const BY_HANDLE: ReadonlySet<number> = new Set([
  REQUEST.CLOSE,
  REQUEST.READ,
  REQUEST.WRITE,
  REQUEST.FSTAT,
  REQUEST.READDIR,
]);

/** What the answer to a request is for; null when it only passes. Answers come in the order of the requests. */
type Expected = { forward: boolean; seen: (frame: Buffer) => Buffer | void } | null;

export interface FileStreams {
  client: Readable & Writable;
  stdin: Writable;
  stdout: Readable;
}

class SessionOver extends Error {}

/** One client's talk with the SFTP server in a workshop, every request of which is judged on its way. */
export class FilesSession {
  private readonly pending: Expected[] = [];
  private readonly replies: Buffer[] = [];
  private readonly over = new AbortController();
  private readonly waiting = new Set<() => void>();
  private betweenAnswers = true;
  private answered: () => void = () => {};
  private greeted = false;

  /** `onDone` hears of every change that succeeded; `onMove` whenever something comes from the client. */
  constructor(
    private readonly streams: FileStreams,
    private readonly onDone: (done: Done) => void,
    private readonly onMove: () => void,
  ) {}

  /**
   * Resolves when either side has ended, or the connection, after which nothing is passed on; rejects when one of the sides
   * does not keep to the protocol.
   */
  async run(ended: AbortSignal): Promise<void> {
    if (ended.aborted) return;
    ended.addEventListener('abort', () => this.stop());
    const stopped = new Promise<void>((resolve) => this.over.signal.addEventListener('abort', () => resolve()));
    try {
      await Promise.race([this.requests(), this.answers(), stopped]);
    } finally {
      this.stop();
    }
  }

  private stop(): void {
    this.over.abort(new SessionOver());
    for (const giveUp of this.waiting) giveUp();
  }

  private async requests(): Promise<void> {
    const rules = new RequestRules((frame) => this.ask(frame));
    await splitFrames(this.streams.client, {
      begin: (type, length) => this.beginRequest(type, length),
      through: (bytes) => this.toServer(bytes),
      whole: async (frame) => {
        await this.room();
        if (frame[4] === REQUEST.INIT) return this.greet(frame);
        await this.carryOut(frame, await this.judge(rules, frame));
      },
      between: () => this.room(),
    });
    this.streams.stdin.end();
    // What was asked before the end is answered still.
    await once(this.streams.stdout, 'close', { signal: this.over.signal });
  }

  private beginRequest(type: number, length: number): Fate {
    this.over.signal.throwIfAborted();
    this.onMove();
    if (this.greeted === (type === REQUEST.INIT)) throw new MalformedPacket('a greeting out of place');
    if (!BY_HANDLE.has(type)) {
      if (length < 5 || length > LONGEST_WHOLE) throw new MalformedPacket('too long or too short');
      this.greeted = true;
      return 'whole';
    }
    if (length < 9 || length > LONGEST_THROUGH) throw new MalformedPacket('too long or too short');
    this.pending.push(null);
    return 'through';
  }

  /** The server's answer names the extensions it has; those that are refused are not offered. */
  private async greet(frame: Buffer): Promise<void> {
    this.pending.push({ forward: true, seen: (answer) => RequestRules.offered(answer) });
    await this.toServer(frame);
  }

  private async judge(rules: RequestRules, frame: Buffer): Promise<Outcome> {
    try {
      return await rules.judge(frame);
    } catch (error) {
      if (!(error instanceof MalformedPacket)) throw error;
      return { refuse: STATUS.BAD_MESSAGE, why: 'Bad message' };
    }
  }

  private async carryOut(frame: Buffer, outcome: Outcome): Promise<void> {
    if ('refuse' in outcome) {
      await this.reply(statusReply(frame.readUInt32BE(5), outcome.refuse, outcome.why));
      return;
    }
    const { done } = outcome;
    this.pending.push(done ? { forward: true, seen: (answer) => this.tell(answer, done) } : null);
    await this.toServer(outcome.pass);
  }

  private tell(answer: Buffer, done: Done): void {
    const succeeded =
      answer[4] === REPLY.HANDLE ||
      (answer[4] === REPLY.STATUS && answer.length >= 13 && answer.readUInt32BE(9) === STATUS.OK);
    if (succeeded) this.onDone(done);
  }

  /** A question of our own to the server; its answer goes no further. */
  private async ask(frame: Buffer): Promise<Buffer> {
    const answer = this.untilOver<Buffer>((resolve) => this.pending.push({ forward: false, seen: resolve }));
    await Promise.all([this.toServer(frame), answer]);
    return answer;
  }

  private async answers(): Promise<void> {
    await splitFrames(this.streams.stdout, {
      begin: (_type, length) => {
        if (length < 5 || length > LONGEST_ANSWER || this.pending.length === 0) {
          throw new MalformedPacket('an answer that nobody asked for');
        }
        this.betweenAnswers = false;
        if (this.pending[0] !== null) return 'whole';
        this.pending.shift();
        this.answered();
        return 'through';
      },
      through: (bytes) => this.toClient(bytes),
      whole: async (frame) => {
        const expected = this.pending.shift();
        this.answered();
        if (!expected) return;
        const changed = expected.seen(expected.forward ? frame : Buffer.from(frame));
        if (expected.forward) await this.toClient(changed ?? frame);
      },
      between: async () => {
        while (this.replies.length > 0) await this.toClient(this.replies.shift()!);
        this.betweenAnswers = true;
      },
    });
  }

  /** Our own answer, as soon as none of the server's is half sent. */
  private async reply(frame: Buffer): Promise<void> {
    if (this.betweenAnswers) await this.toClient(frame);
    else this.replies.push(frame);
  }

  private async room(): Promise<void> {
    while (this.pending.length + this.replies.length >= MOST_PENDING) {
      await this.untilOver<void>((resolve) => (this.answered = resolve));
    }
  }

  /** What waits for an answer that will never come is let go at the end. */
  private untilOver<T>(wait: (resolve: (value: T) => void) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.over.signal.aborted) return reject(new SessionOver());
      const giveUp = () => reject(new SessionOver());
      this.waiting.add(giveUp);
      wait((value) => {
        this.waiting.delete(giveUp);
        resolve(value);
      });
    });
  }

  private toServer(bytes: Buffer): Promise<void> {
    return this.send(this.streams.stdin, bytes);
  }

  private toClient(bytes: Buffer): Promise<void> {
    return this.send(this.streams.client, bytes);
  }

  private async send(to: Writable, bytes: Buffer): Promise<void> {
    this.over.signal.throwIfAborted();
    if (!to.write(bytes)) await once(to, 'drain', { signal: this.over.signal });
  }
}
