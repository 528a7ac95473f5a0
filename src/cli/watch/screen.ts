import type { Size } from '../columns.js';
import { hasColors, type Line, painted } from '../style.js';

const CONTROL = '\x1b[';
const OTHER_SCREEN = `${CONTROL}?1049h${CONTROL}?25l`;
const FIRST_SCREEN = `${CONTROL}?25h${CONTROL}?1049l`;

/** The terminal with the full-screen view. It is restored at the end of the program. */
export class Screen {
  readonly #colors = hasColors(true);
  #shown = '';
  #open = false;

  open(onKeys: (text: string) => void, onResize: () => void): void {
    this.#open = true;
    process.once('exit', () => this.close());
    process.stdout.write(OTHER_SCREEN);
    process.stdout.on('resize', () => {
      // A terminal may have broken its lines differently.
      this.#shown = '';
      onResize();
    });
    if (!process.stdin.isTTY) return;
    process.stdin.setRawMode(true);
    process.stdin.setEncoding('utf8').on('data', onKeys).resume();
  }

  get size(): Size {
    return { columns: process.stdout.columns, rows: process.stdout.rows };
  }

  /** Overwrites the screen, so that it does not flicker. An unchanged screen is not sent. */
  show(lines: readonly Line[]): void {
    const text = screenText(lines, this.#colors);
    if (!this.#open || text === this.#shown) return;
    this.#shown = text;
    process.stdout.write(text);
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    if (process.stdin.isTTY) process.stdin.setRawMode(false).pause();
    process.stdout.write(FIRST_SCREEN);
  }
}

/**
 * The text that makes a terminal show these lines from its first row on. Each line is cleared
 * before it is written: a clear behind a line as wide as the terminal would clear its last column,
 * too.
 */
export function screenText(lines: readonly Line[], colors: boolean): string {
  const text = lines.map((line) => `${CONTROL}K${painted(line, colors)}`).join('\r\n');
  return `${CONTROL}H${text}${CONTROL}J`;
}
