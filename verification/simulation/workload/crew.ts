import type { LeaseKeeper } from '../../../src/backends/lease-keeper.js';
import { type Backend, KeyedMutex, Semaphore } from '../../../src/index.js';
import type { History } from '../history.js';
import type { Invocation, Outcome, SemaphoreTerms } from '../../history/events.js';
import { streamOf } from '../random.js';
import type { SimulatedProcess } from '../world/process.js';
import { Caller } from './caller.js';
import type { HandleWatch } from './handle-watch.js';
import type { Mailbox } from './mailbox.js';
import { budgetOf, type WorkloadTerms } from './terms.js';

export interface CrewOptions {
  readonly process: SimulatedProcess;
  readonly backend: Backend;
  /** Renews in a second thread. */
  readonly keeper: LeaseKeeper | undefined;
  readonly terms: WorkloadTerms;
  readonly history: History;
  readonly watch: HandleWatch;
  readonly mailbox: Mailbox;
  readonly seed: number;
}

/** Everything that one simulated process does: its semaphores, and their callers. */
export class Crew {
  readonly options: CrewOptions;
  readonly #semaphores = new Map<string, Semaphore>();
  readonly #callers: Caller[];
  #keyed: KeyedMutex;
  #calls = 0;
  #settled = 0;
  #groups = 0;
  #wake: () => void = () => undefined;
  /** Resolves when all shall end. */
  readonly stopped = new Promise<void>((resolve) => (this.#wake = resolve));
  stopping = false;

  constructor(options: CrewOptions) {
    this.options = options;
    const { process, terms, seed } = options;
    for (const { name } of terms.semaphores) this.open(name);
    this.#keyed = this.#openKeyed();
    this.#callers = Array.from(
      { length: terms.callers },
      (_, i) => new Caller(this, streamOf(seed, 'caller', process.name, i)),
    );
  }

  /** A number that no request of this process has had. */
  nextGroup(): number {
    this.#groups += 1;
    return this.#groups;
  }

  get keyed(): KeyedMutex {
    return this.#keyed;
  }

  /** Calls that have not ended. */
  get unsettled(): number {
    return this.#calls - this.#settled;
  }

  start(): void {
    for (const caller of this.#callers) void caller.run();
  }

  stop(): void {
    this.stopping = true;
    this.#wake();
  }

  close(): void {
    for (const name of this.#semaphores.keys()) void this.closeSemaphore(name);
    void this.record({ operation: 'close', semaphores: [] }, () => this.#keyed.close());
  }

  semaphore(name: string): Semaphore {
    const semaphore = this.#semaphores.get(name);
    if (semaphore === undefined) throw new Error(`no semaphore ${name}`);
    return semaphore;
  }

  termsOf(name: string): SemaphoreTerms {
    const terms = this.options.terms.semaphores.find((one) => one.name === name);
    if (terms === undefined) throw new Error(`no semaphore ${name}`);
    return terms;
  }

  open(name: string): void {
    const { backend, process, keeper } = this.options;
    const { limit, ttl, rate, groupLimit, budgets } = this.termsOf(name);
    const named = Object.entries(budgets ?? {}).map(
      ([each, terms]) => [each, budgetOf(terms)] as const,
    );
    const paid = { rate, groupLimit, budgets: budgets && Object.fromEntries(named) };
    this.#semaphores.set(
      name,
      new Semaphore(backend, name, { limit, ttl, label: process.name, keeper, ...paid }),
    );
  }

  closeSemaphore(name: string): Promise<unknown> {
    const semaphore = this.semaphore(name);
    return this.record({ operation: 'close', semaphores: [name] }, () => semaphore.close());
  }

  /** Takes down a call before it is made and when it has ended; never rejects. */
  async record<T>(
    what: Invocation,
    run: () => Promise<T>,
    outcomeOf: (result: T) => Outcome = () => ({}),
  ): Promise<T | undefined> {
    const { history, process } = this.options;
    this.#calls += 1;
    const call = this.#calls;
    history.record(process.name, { type: 'invoke', call, ...what });
    try {
      const result = await run();
      history.record(process.name, { type: 'ok', call, ...outcomeOf(result) });
      return result;
    } catch (thrown) {
      const error = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
      const type = isCertain(thrown) ? 'fail' : 'unknown';
      history.record(process.name, { type, call, error });
      return undefined;
    } finally {
      this.#settled += 1;
    }
  }

  #openKeyed(): KeyedMutex {
    const { backend, process, terms, keeper } = this.options;
    return new KeyedMutex(backend, { ttl: terms.keyedTtl, label: process.name, keeper });
  }
}

/** These say for certain that nothing is held. */
function isCertain(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  return ['AcquireTimeoutError', 'HandleLostError', 'ClosedError', 'AbortError'].includes(
    thrown.name,
  );
}
