import type { Line, Size } from './frame.js';

const CONTROL = '\x1b[';
const OTHER_SCREEN = `${CONTROL}?1049h${CONTROL}?25l`;
const FIRST_SCREEN = `${CONTROL}?25h${CONTROL}?1049l`;

const STYLES: Record<NonNullable<Line['style']>, string> = {
  title: '1',
  head: '4',
  selected: '7',
  trouble: '1;31',
  keys: '2',
};

/**
 * The terminal while the full-screen view is on it: leaves it as it was, however the program ends.
 */
export class Screen {
  readonly #stdout = process.stdout;
  readonly #stdin = process.stdin;
  readonly #colors = (process.env['NO_COLOR'] ?? '') === '';
  readonly #onExit = (): void => this.close();
  #onKeys: ((text: string) => void) | undefined;
  #onResize: (() => void) | undefined;
  #open = false;

  open(onKeys: (text: string) => void, onResize: () => void): void {
    this.#open = true;
    this.#onKeys = onKeys;
    this.#onResize = onResize;
    process.once('exit', this.#onExit);
    this.#stdout.write(OTHER_SCREEN);
    this.#stdout.on('resize', onResize);
    if (!this.#stdin.isTTY) return;
    this.#stdin.setRawMode(true);
    this.#stdin.setEncoding('utf8').on('data', onKeys).resume();
  }

  get size(): Size {
    return { columns: this.#stdout.columns, rows: this.#stdout.rows };
  }

  /** Overwrites what is there, so that nothing flickers. */
  show(lines: readonly Line[]): void {
    if (!this.#open) return;
    const text = lines.map((line) => `${this.#styled(line)}${CONTROL}K`).join('\r\n');
    this.#stdout.write(`${CONTROL}H${text}${CONTROL}J`);
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    process.off('exit', this.#onExit);
    if (this.#onResize !== undefined) this.#stdout.off('resize', this.#onResize);
    if (this.#onKeys !== undefined) this.#stdin.off('data', this.#onKeys);
    if (this.#stdin.isTTY) this.#stdin.setRawMode(false).pause();
    this.#stdout.write(FIRST_SCREEN);
  }

  #styled({ text, style }: Line): string {
    if (style === undefined || (!this.#colors && style === 'trouble')) return text;
    return `${CONTROL}${STYLES[style]}m${text}${CONTROL}0m`;
  }
}
