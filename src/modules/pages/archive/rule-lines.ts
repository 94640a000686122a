import { ArchiveError } from './archive-error.js';

/** A line of `_redirects` or `_headers` that has no effect, and why. */
export interface RuleWarning {
  file: string;
  /** From 1. */
  line: number;
  message: string;
}

export interface RuleLine {
  number: number;
  text: string;
  indented: boolean;
}

const MAX_BYTES = 256 * 1024;
const MAX_WARNINGS = 50;

/** What a file of rules says, without comments and empty lines. */
export function ruleLines(file: string, content: Buffer): RuleLine[] {
  if (content.length > MAX_BYTES) {
    throw new ArchiveError('archive_file_too_large', `"${file}" has more than ${MAX_BYTES} bytes.`);
  }
  return content
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .split(/\r\n|\r|\n/)
    .map((line, index) => ({ number: index + 1, text: line.trim(), indented: /^[ \t]/.test(line) }))
    .filter(({ text }) => text !== '' && !text.startsWith('#'));
}

/** Collects what has no effect; beyond some there is no more to be learnt from it. */
export class Warnings {
  readonly list: RuleWarning[] = [];

  add(file: string, line: number, message: string): void {
    if (this.list.length < MAX_WARNINGS) this.list.push({ file, line, message });
  }
}
