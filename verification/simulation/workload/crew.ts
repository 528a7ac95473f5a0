import type { LeaseKeeper } from '../../../src/backends/lease-keeper.js';
import {
  type Backend,
  type HandleData,
  KeyedMutex,
  type RedisTarget,
  Semaphore,
} from '../../../src/index.js';
import type { Invocation, Outcome, SemaphoreSettings } from '../../history/events.js';
import { streamOf } from '../random.js';
import { Caller } from './caller.js';
import type { EventLog, HandleWatch, Process } from './handle-watch.js';
import { budgetOf, type Workload } from './workload.js';

/** Tickets that processes leave for each other, and ids of recent tickets for an operator. */
export interface Mailbox {
  readonly tickets: HandleData[];
  readonly seen: { readonly name: string; readonly id: string }[];
}

export interface CrewOptions {
  readonly process: Process;
  readonly backend: Backend | RedisTarget;
  /** Renews in a second thread. */
  readonly keeper: LeaseKeeper | undefined;
  readonly workload: Workload;
  readonly history: EventLog;
  readonly watch: HandleWatch;
  readonly mailbox: Mailbox;
  readonly seed: number;
}

/** The semaphores of one process, and their callers. */
export class Crew {
  readonly options: CrewOptions;
  readonly #semaphores = new Map<string, Semaphore>();
  readonly #callers: Caller[];
  readonly keyed: KeyedMutex;
  #calls = 0;
  #settled = 0;
  #groups = 0;
  #wake: () => void = () => undefined;
  /** Resolves when all shall end. */
  readonly stopped = new Promise<void>((resolve) => (this.#wake = resolve));
  stopping = false;

  constructor(options: CrewOptions) {
    this.options = options;
    const { process, workload, seed } = options;
    for (const { name } of workload.semaphores) this.open(name);
    const keyed = { ttl: workload.keyedTtl, label: process.name, keeper: options.keeper };
    this.keyed = new KeyedMutex(options.backend, keyed);
    this.#callers = Array.from(
      { length: workload.callers },
      (_, i) => new Caller(this, streamOf(seed, 'caller', process.name, i)),
    );
  }

  /** A number that no request of this process has had. */
  nextGroup(): number {
    this.#groups += 1;
    return this.#groups;
  }

  /** Calls that have not ended. */
  get unsettled(): number {
    return this.#calls - this.#settled;
  }

  /** Resolves when all callers have ended. */
  start(): Promise<unknown> {
    return Promise.all(this.#callers.map((caller) => caller.run()));
  }

  stop(): void {
    this.stopping = true;
    this.#wake();
  }

  close(): Promise<unknown> {
    const closing = [...this.#semaphores.keys()].map((name) => this.closeSemaphore(name));
    const keyed = this.record({ operation: 'close', semaphores: [] }, () => this.keyed.close());
    return Promise.all([...closing, keyed]);
  }

  semaphore(name: string): Semaphore {
    const semaphore = this.#semaphores.get(name);
    if (semaphore === undefined) throw new Error(`no semaphore ${name}`);
    return semaphore;
  }

  settingsOf(name: string): SemaphoreSettings {
    const found = this.options.workload.semaphores.find((each) => each.name === name);
    if (found === undefined) throw new Error(`no semaphore ${name}`);
    return found;
  }

  open(name: string): void {
    const { backend, process, keeper } = this.options;
    const { limit, ttl, rate, groupLimit, budgets } = this.settingsOf(name);
    const named = Object.entries(budgets ?? {}).map(
      ([each, budget]) => [each, budgetOf(budget)] as const,
    );
    const paid = { rate, groupLimit, budgets: budgets && Object.fromEntries(named) };
    const options = { limit, ttl, label: process.name, keeper, ...paid };
    this.#semaphores.set(name, new Semaphore(backend, name, options));
  }

  closeSemaphore(name: string): Promise<unknown> {
    const semaphore = this.semaphore(name);
    return this.record({ operation: 'close', semaphores: [name] }, () => semaphore.close());
  }

  /** Records a call before it is made and when it has ended; never rejects. */
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
}

/** With these errors the call certainly holds nothing. */
function isCertain(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  return ['AcquireTimeoutError', 'HandleLostError', 'ClosedError', 'AbortError'].includes(
    thrown.name,
  );
}
