import { drawFrame, EVENTS_SHOWN } from './frame.js';
import { choosePaint } from './paint.js';
import type { Scene, View } from './scene.js';

const PERIOD = 100;
const ESC = '\u001B[';
const HIDE_CURSOR = `${ESC}?25l`;
const SHOW_CURSOR = `${ESC}?25h`;
// In a narrow window long lines are cut off instead of breaking the picture.
const NO_WRAP = `${ESC}?7l`;
const WRAP = `${ESC}?7h`;
const CLEAR_REST_OF_LINE = `${ESC}K`;

/** Redraws one picture in place, ten times a second. */
export class LiveView implements View {
  readonly #scene: Scene;
  readonly #output: NodeJS.WriteStream;
  readonly #paint = choosePaint(process.env);
  readonly #opened = performance.now();
  readonly #timer: NodeJS.Timeout;
  readonly #events: string[] = [];
  #height = 0;
  #ended = false;

  constructor(scene: Scene, output: NodeJS.WriteStream) {
    this.#scene = scene;
    this.#output = output;
    scene.board.on('event', (text) => this.#remember(text));
    output.write(HIDE_CURSOR + NO_WRAP);
    process.once('exit', () => this.end());
    this.#draw();
    this.#timer = setInterval(() => this.#draw(), PERIOD);
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#timer);
    this.#draw();
    this.#output.write(WRAP + SHOW_CURSOR);
  }

  #remember(text: string): void {
    const [firstLine = ''] = text.split('\n');
    const seconds = ((performance.now() - this.#opened) / 1000).toFixed(1);
    this.#events.push(`${seconds} s  ${firstLine}`);
    if (this.#events.length > EVENTS_SHOWN) this.#events.shift();
  }

  #draw(): void {
    const now = performance.now();
    const moment = { now, elapsed: now - this.#opened, events: this.#events };
    const lines = drawFrame(this.#scene, moment, this.#paint);
    const back = this.#height === 0 ? '' : `${ESC}${this.#height}A\r`;
    this.#output.write(back + lines.map((line) => `${line}${CLEAR_REST_OF_LINE}\n`).join(''));
    this.#height = lines.length;
  }
}
