// Everything that a terminal takes for something other than text, but for the tab.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

/** What somebody typed, as the lines that a program is to read. */
export function consoleLines(text: string): string[] {
  return text
    .replace(/(\r\n|\n|\r)$/, '')
    .split(/\r\n|\n|\r/)
    .map((line) => line.replace(CONTROL, ''));
}
