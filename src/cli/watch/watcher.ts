import type { Sampler } from '../../sampler/sampler.js';
import type { WatchedSemaphore } from '../../sampler/watched-semaphore.js';
import { unreadable } from '../status-table.js';
import { TicketTimes } from './ticket-times.js';
import type { Watched } from './view.js';

/** What the watch view needs of the sampler, which is the same as that of the web view. */
export type Looks = Pick<
  Sampler,
  'semaphores' | 'semaphore' | 'history' | 'rate' | 'watch' | 'reachable' | 'lastOkAt' | 'trouble'
>;

/** Follows one semaphore or all of them, as the view shows them. */
export class Watcher {
  readonly #looks: Looks;
  readonly #ticketTimes = new TicketTimes();
  #name: string | undefined;
  #stop: () => void = () => undefined;

  constructor(looks: Looks) {
    this.#looks = looks;
  }

  /**
   * From now on this one closely, or all of them; looks at once.
   * @param onLook called after each look, also after one that failed
   */
  follow(name: string | undefined, onLook: () => void): void {
    this.#name = name;
    const stop = this.#looks.watch(name, () => {
      if (name !== undefined) this.#ticketTimes.see(this.#looks.semaphore(name)?.detail?.holders);
      onLook();
    });
    this.#stop();
    this.#stop = stop;
  }

  stop(): void {
    this.#stop();
  }

  /** What was seen last. */
  get watched(): Watched[] {
    const readable = this.#followed().filter(({ error }) => error === undefined);
    return readable.map((each) => this.#watchedOf(each));
  }

  /** When that was, on the wall clock; undefined before the first look. */
  get seenAt(): number | undefined {
    return this.#looks.lastOkAt;
  }

  /** Whether the last look failed; then what was seen is older. */
  get failed(): boolean {
    return this.#looks.lastOkAt !== undefined && !this.#looks.reachable;
  }

  /** Why the last look failed, or which of those that are followed cannot be read. */
  get trouble(): string | undefined {
    const { trouble } = this.#looks;
    if (this.failed) return trouble;
    const damaged = this.#followed().flatMap(({ name, error }) =>
      error === undefined ? [] : [`${JSON.stringify(name)} ${unreadable({ name, error })}`],
    );
    // One that is known by its name needs no list of names.
    const all = this.#name === undefined && trouble !== undefined ? [trouble, ...damaged] : damaged;
    return all.length === 0 ? undefined : all.join('; ');
  }

  #followed(): readonly WatchedSemaphore[] {
    if (this.#name === undefined) return this.#looks.semaphores;
    const one = this.#looks.semaphore(this.#name);
    return one === undefined ? [] : [one];
  }

  #watchedOf(semaphore: WatchedSemaphore): Watched {
    const { name, detail } = semaphore;
    const { limit = null, held, waiting, oldestWait } = semaphore.summary;
    const { holders = [], waiters = [] } = detail ?? {};
    return {
      summary: { name, limit, held, waiting, holders, waiters },
      oldestWait,
      isClose: detail !== undefined,
      rate: this.#looks.rate(semaphore) ?? 0,
      // Many are in the list, and it shows none of theirs.
      steps: detail === undefined ? [] : this.#looks.history(name),
      ticketTimes: this.#ticketTimes,
    };
  }
}
