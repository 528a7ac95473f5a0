import type { Scene, View } from './scene.js';

const PERIOD = 1000;

/** One line a second and one for each event: for logs and pipes. */
export class PlainView implements View {
  readonly #scene: Scene;
  readonly #output: NodeJS.WritableStream;
  readonly #opened = performance.now();
  readonly #timer: NodeJS.Timeout;

  constructor(scene: Scene, output: NodeJS.WritableStream) {
    this.#scene = scene;
    this.#output = output;
    scene.board.on('event', (text) => this.#write(text));
    this.#timer = setInterval(() => this.#write(this.#state()), PERIOD);
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #state(): string {
    const { board, judge } = this.#scene;
    const starting = board.workers.filter(({ state }) => state === 'starting').length;
    if (starting > 0) return `${starting} workers are starting`;
    const holders = board.holders.map((worker) => (worker === undefined ? '-' : `w${worker}`));
    const waiting = board.workers.filter(({ state }) => state === 'waiting').length;
    return (
      `in flight ${judge.inFlight.length}, peak ${judge.peak} of ${judge.allowed}, ` +
      `waiting ${waiting}, served ${judge.served}, permits: ${holders.join(' ')}`
    );
  }

  #write(text: string): void {
    const seconds = ((performance.now() - this.#opened) / 1000).toFixed(1);
    this.#output.write(`${seconds.padStart(5)} s  ${text}\n`);
  }
}
