import { setTimeout as sleep } from 'node:timers/promises';

import { startProgram, type WorkerProcess } from '../test/support/worker-process.js';
import type { Board } from './board.js';
import { type ClientName, CLIENTS } from './bundle-workers.js';
import type { Crew } from './crew.js';
import { isWorkerReport } from './work-loop.js';
import type { Assignment } from './worker-process.js';

const START_LIMIT = 6000;
const STOP_LIMIT = 1500;

/** Every worker is a separate process; the clients take turns. */
export class ProcessCrew implements Crew {
  readonly description: string;
  readonly #workers: number;
  readonly #files: Record<ClientName, string>;
  readonly #assignment: Omit<Assignment, 'worker'>;
  readonly #board: Board;
  readonly #children = new Map<number, WorkerProcess>();
  readonly #killed = new Set<number>();
  #stopping = false;

  constructor(
    workers: number,
    files: Record<ClientName, string>,
    assignment: Omit<Assignment, 'worker'>,
    board: Board,
  ) {
    const half = Math.ceil(workers / 2);
    this.description = `${workers} processes, ${half} with redis and ${workers - half} with ioredis`;
    this.#workers = workers;
    this.#files = files;
    this.#assignment = assignment;
    this.#board = board;
  }

  async start(): Promise<void> {
    for (let worker = 1; worker <= this.#workers; worker += 1) void this.#follow(worker);
    await this.#until(START_LIMIT, () => this.#board.problems.length > 0 || this.#starting() === 0);
    if (this.#board.problems.length > 0) throw new Error(this.#board.problems.join('\n'));
    if (this.#starting() > 0) {
      throw new Error(`${this.#starting()} workers have not started within ${START_LIMIT} ms`);
    }
  }

  kill(worker: number): void {
    this.#killed.add(worker);
    this.#children.get(worker)?.kill();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    for (const child of this.#children.values()) child.send({ type: 'stop' });
    await this.#until(STOP_LIMIT, () => this.#children.size === 0);
    const late = [...this.#children.keys()];
    if (late.length === 0) return;
    const names = late.join(', ');
    this.#board.addProblem(`not ended by themselves within ${STOP_LIMIT} ms: workers ${names}`);
    for (const worker of late) this.kill(worker);
    await this.#until(STOP_LIMIT, () => this.#children.size === 0);
  }

  #starting(): number {
    return this.#board.workers.filter(({ state }) => state === 'starting').length;
  }

  /** Starts a worker, and shows what it reports until it has ended. */
  async #follow(worker: number): Promise<void> {
    const client = CLIENTS[(worker - 1) % CLIENTS.length] ?? 'redis';
    const child = startProgram([this.#files[client]], { ...this.#assignment, worker });
    this.#children.set(worker, child);
    const end = await this.#reportsOf(child);
    this.#children.delete(worker);
    const { code } = await child.exited;
    if (this.#killed.has(worker) || (this.#stopping && code === 0)) return;
    this.#board.update({ worker, state: 'failed', problem: end });
  }

  /** Why there are no more. */
  async #reportsOf(child: WorkerProcess): Promise<string> {
    try {
      for (;;) {
        const { data } = await child.next('report');
        if (isWorkerReport(data)) this.#board.update(data);
      }
    } catch (error) {
      return String(error);
    }
  }

  async #until(limit: number, done: () => boolean): Promise<void> {
    const deadline = performance.now() + limit;
    while (!done() && performance.now() < deadline) await sleep(20);
  }
}
