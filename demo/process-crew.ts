import { type ChildProcess, fork } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Board } from './board.js';
import { type ClientName, CLIENTS } from './bundle-workers.js';
import { atEnd } from './cleanup.js';
import type { Crew } from './crew.js';
import { isWorkerReport } from './work-loop.js';
import { type Assignment, toEnvironment } from './worker-assignment.js';

const START_LIMIT = 6000;
const STOP_LIMIT = 1500;

/** Every worker is a separate process; the clients take turns. */
export class ProcessCrew implements Crew {
  readonly description: string;
  readonly #workers: number;
  readonly #files: Record<ClientName, string>;
  readonly #assignment: Omit<Assignment, 'worker'>;
  readonly #board: Board;
  readonly #children = new Map<number, ChildProcess>();
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
    atEnd(() => this.#killAll());
    for (let worker = 1; worker <= this.#workers; worker += 1) this.#fork(worker);
    await this.#until(START_LIMIT, () => this.#board.problems.length > 0 || this.#starting() === 0);
    if (this.#board.problems.length > 0) throw new Error(this.#board.problems.join('\n'));
    if (this.#starting() > 0) {
      throw new Error(`${this.#starting()} workers have not started within ${START_LIMIT} ms`);
    }
  }

  kill(worker: number): void {
    this.#killed.add(worker);
    this.#children.get(worker)?.kill('SIGKILL');
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    // A worker that has just ended gets no message; its exit is judged elsewhere.
    for (const child of this.#children.values()) child.send('stop', () => {});
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

  #fork(worker: number): void {
    const client = CLIENTS[(worker - 1) % CLIENTS.length] ?? 'redis';
    const child = fork(this.#files[client], {
      // Not those of the parent, which load tsx.
      execArgv: [],
      env: { ...process.env, ...toEnvironment({ ...this.#assignment, worker }) },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#children.set(worker, child);
    let complaint = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-2000);
    });
    child.on('message', (report) => {
      if (isWorkerReport(report)) this.#board.update(report);
    });
    child.once('error', (error) => this.#fail(worker, error.message));
    child.once('close', (code, signal) => {
      this.#children.delete(worker);
      if (this.#killed.has(worker) || (this.#stopping && code === 0)) return;
      this.#fail(worker, `it ended with ${signal ?? `exit code ${code}`}\n${complaint}`.trimEnd());
    });
  }

  #fail(worker: number, problem: string): void {
    this.#board.update({ worker, state: 'failed', problem });
  }

  #killAll(): void {
    for (const child of this.#children.values()) child.kill('SIGKILL');
  }

  async #until(limit: number, done: () => boolean): Promise<void> {
    const deadline = performance.now() + limit;
    while (!done() && performance.now() < deadline) await sleep(20);
  }
}
