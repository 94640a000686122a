/*
 * Frames of the Wings protocol: JSON text `{"event": string, "args": string[]}` both ways, so that clients made for
 * Pterodactyl and its kin understand us.
 */

export interface Frame {
  event: string;
  args: string[];
}

/** A client's frame, null for anything else. */
export function parseFrame(text: string): Frame | null {
  try {
    const { event, args = [] } = JSON.parse(text) as { event?: unknown; args?: unknown };
    const wellFormed = typeof event === 'string' && Array.isArray(args) && args.every((arg) => typeof arg === 'string');
    return wellFormed ? { event, args: args } : null;
  } catch {
    return null;
  }
}

export function frame(event: string, ...args: string[]): Buffer {
  return Buffer.from(JSON.stringify({ event, args }));
}
