const MAX_LINES = 1000;
const MAX_CHARACTERS = 512 * 1024;

/** The newest lines of a console. */
export class History {
  private lines: string[] = [];
  private characters = 0;

  add(lines: readonly string[]): void {
    for (const line of lines) {
      this.lines.push(line);
      this.characters += line.length;
    }
    let drop = Math.max(0, this.lines.length - MAX_LINES);
    for (let n = 0; n < drop; n++) this.characters -= this.lines[n]!.length;
    while (this.characters > MAX_CHARACTERS && drop < this.lines.length) this.characters -= this.lines[drop++]!.length;
    if (drop > 0) this.lines = this.lines.slice(drop);
  }

  last(count: number): string[] {
    return this.lines.slice(-count);
  }

  clear(): void {
    this.lines = [];
    this.characters = 0;
  }
}
