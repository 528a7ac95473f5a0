import { MemoryBackend, Semaphore } from '../src/index.js';
import type { Board } from './board.js';
import type { DemoOptions } from './command-line.js';
import type { Crew } from './crew.js';
import { workUntilStopped } from './work-loop.js';

/** All workers in this process, each with its own semaphore object on one memory backend. */
export class OneProcessCrew implements Crew {
  readonly description: string;
  readonly #options: DemoOptions;
  readonly #judgeUrl: string;
  readonly #board: Board;
  readonly #backend = new MemoryBackend();
  // One each: Node warns of more than ten listeners on one signal.
  readonly #stops: AbortController[] = [];
  readonly #workers: Promise<void>[] = [];

  constructor(options: DemoOptions, judgeUrl: string, board: Board) {
    this.description = `${options.workers} in one process`;
    this.#options = options;
    this.#judgeUrl = judgeUrl;
    this.#board = board;
  }

  start(): Promise<void> {
    for (let worker = 1; worker <= this.#options.workers; worker += 1) {
      this.#workers.push(this.#run(worker));
    }
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    for (const stop of this.#stops) stop.abort();
    await Promise.all(this.#workers);
  }

  async #run(worker: number): Promise<void> {
    const { permits: limit, ttl } = this.#options;
    const options = { limit, ttl, label: `worker ${worker}` };
    const semaphore = new Semaphore(this.#backend, 'http-api', options);
    const board = this.#board;
    const stop = new AbortController();
    this.#stops.push(stop);
    try {
      const report = board.update.bind(board);
      const work = { worker, judgeUrl: this.#judgeUrl, report, stop: stop.signal };
      await workUntilStopped(semaphore, work);
    } catch (error) {
      board.update({ worker, state: 'failed', problem: String(error) });
    } finally {
      await semaphore.close();
    }
  }
}
