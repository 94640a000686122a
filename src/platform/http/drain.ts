import type { IncomingMessage, ServerResponse } from 'node:http';

const LINGER_MS = 2000;

/**
 * For an answer that goes out before the body has arrived: the connection stays open though the client asked for its end, or
 * what it still sends would have it reset before the answer is read (RFC 9112, 9.6). The client ends it then, or
 * `cutOffLateBody`.
 */
export function outlastBody(request: IncomingMessage, response: ServerResponse): void {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
  const comes = !request.complete && (coding !== undefined || length !== '0');
  if (comes) response.shouldKeepAlive = true;
}

/**
 * After an answer that came before the body had arrived: Node reads and drops what still comes, so that the client gets to
 * see the answer, and the connection is cut when the client goes on sending for all that.
 */
export function cutOffLateBody(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  const { socket } = request;
  const timer = setTimeout(() => {
    if (!request.complete) socket.destroy();
  }, LINGER_MS);
  timer.unref();
  socket.once('close', () => clearTimeout(timer));
}

/**
 * Holds `100 Continue` back until somebody reads the body, so that clients who ask first never send a body that is refused.
 */
export function continueOnRead(request: IncomingMessage, response: ServerResponse): void {
  const read = request._read.bind(request);
  let asked = false;
  request._read = (size) => {
    if (!asked && !response.headersSent) response.writeContinue();
    asked = true;
    read(size);
  };
}
