export interface RobotsLine {
  /** Counted from 1. */
  number: number;
  /** As it stands there. */
  text: string;
  /** Undefined for what is not of the form `name: value`. The name is in lower case. */
  field: { name: string; value: string } | undefined;
}

/** The lines of a robots.txt that hold more than a comment. */
export function* robotsLines(content: string): Generator<RobotsLine> {
  for (const [index, text] of content.split(/\r\n|\r|\n/).entries()) {
    const said = text.split('#', 1)[0]!.trim();
    if (said === '') continue;
    const colon = said.indexOf(':');
    const field = { name: said.slice(0, colon).trim().toLowerCase(), value: said.slice(colon + 1).trim() };
    yield { number: index + 1, text, field: colon === -1 ? undefined : field };
  }
}
