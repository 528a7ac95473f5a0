import { EventEmitter } from 'node:events';

import type { WorkerReport, WorkerState } from './work-loop.js';

export interface WorkerLine {
  readonly worker: number;
  readonly state: WorkerState;
  readonly slot: number | undefined;
  /** Milliseconds on the process's monotonic clock. */
  readonly since: number;
}

/** The reports of the workers, for people to look at. The proof does not depend on them. */
export class Board extends EventEmitter<{ event: [text: string] }> {
  readonly #workers = new Map<number, WorkerLine>();
  readonly #holders: (number | undefined)[];
  readonly #problems: string[] = [];
  #lost = 0;

  constructor(workers: number, permits: number) {
    super();
    for (let worker = 1; worker <= workers; worker += 1) this.#set({ worker, state: 'starting' });
    this.#holders = Array.from({ length: permits }, () => undefined);
  }

  get workers(): readonly WorkerLine[] {
    return [...this.#workers.values()];
  }

  /** By slot: the worker that has it. A killed worker stays until another worker gets the slot. */
  get holders(): readonly (number | undefined)[] {
    return this.#holders;
  }

  /** How many permits were lost by their holders. */
  get lost(): number {
    return this.#lost;
  }

  get problems(): readonly string[] {
    return this.#problems;
  }

  stateOf(worker: number): WorkerState | undefined {
    return this.#workers.get(worker)?.state;
  }

  update(report: WorkerReport): void {
    const { worker, state, slot, problem } = report;
    const before = this.stateOf(worker);
    // Messages of a killed worker may arrive late.
    if (before === 'killed' || before === 'failed') return;
    this.#set(report);
    if (state !== 'killed') this.#clearSlotOf(worker);
    if (state === 'running' && slot !== undefined) this.#holders[slot] = worker;
    if (state === 'lost') {
      this.#lost += 1;
      this.emit('event', `worker ${worker} lost its permit (slot ${slot})`);
    }
    if (state === 'failed') this.addProblem(`worker ${worker} failed: ${problem ?? 'unknown'}`);
  }

  addProblem(problem: string): void {
    this.#problems.push(problem);
    this.emit('event', problem);
  }

  tell(text: string): void {
    this.emit('event', text);
  }

  #set({ worker, state, slot }: WorkerReport): void {
    this.#workers.set(worker, { worker, state, slot, since: performance.now() });
  }

  #clearSlotOf(worker: number): void {
    const slot = this.#holders.indexOf(worker);
    if (slot !== -1) this.#holders[slot] = undefined;
  }
}
