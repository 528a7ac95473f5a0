import xterm from '@xterm/headless';
import type { IBufferCell } from '@xterm/headless';

/** What a terminal of some size shows of what a program writes to it. */
export class CapturedTerminal {
  readonly #terminal: xterm.Terminal;

  constructor(columns: number, rows: number) {
    this.#terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true });
  }

  /** Resolves once it is on the screen. */
  write(text: string): Promise<void> {
    return new Promise((resolve) => this.#terminal.write(text, resolve));
  }

  /** The lines on the screen. */
  get lines(): string[] {
    return this.#rows((line) => line.translateToString(true));
  }

  /**
   * How each column looks: `i` inverse, `u` underlined, `d` dim, `r` `y` `g` in color (`R` bold,
   * too), `b` bold.
   */
  get styles(): string[] {
    return this.#rows((line) => {
      const cells = Array.from({ length: this.#terminal.cols }, (_, x) => line.getCell(x));
      return cells.map(styleOf).join('').trimEnd();
    });
  }

  #rows<T>(show: (line: xterm.IBufferLine) => T): T[] {
    const { active } = this.#terminal.buffer;
    return Array.from({ length: this.#terminal.rows }, (_, y) => {
      const line = active.getLine(active.baseY + y);
      if (line === undefined) throw new Error(`no line ${y}`);
      return show(line);
    });
  }
}

function styleOf(cell: IBufferCell | undefined): string {
  if (cell === undefined || cell.getWidth() === 0) return '';
  if (cell.isInverse() !== 0) return 'i';
  const color = { 1: 'r', 2: 'g', 3: 'y' }[cell.getFgColor()];
  if (cell.isFgPalette() && color !== undefined) {
    return cell.isBold() === 0 ? color : color.toUpperCase();
  }
  if (cell.isUnderline() !== 0) return 'u';
  if (cell.isDim() !== 0) return 'd';
  return cell.isBold() === 0 ? ' ' : 'b';
}
