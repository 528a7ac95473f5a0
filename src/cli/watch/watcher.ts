import { describe } from '../failure.js';
import type { Operator, Sight } from '../operator.js';
import { History } from './history.js';
import type { Watched } from './view.js';

/** How often all names are looked up, in milliseconds: a SCAN goes through the whole database. */
const NAMES_EVERY = 10_000;

/** Looks at one semaphore or at all of them again and again, and remembers what it saw. */
export class Watcher {
  readonly #operator: Operator;
  readonly #histories = new Map<string, History>();
  #names: readonly string[] = [];
  #namesAt = -Infinity;
  #watched: readonly Watched[] = [];
  #trouble: string | undefined;

  constructor(operator: Operator) {
    this.#operator = operator;
  }

  /** What was seen last. */
  get watched(): readonly Watched[] {
    return this.#watched;
  }

  /** Why the last look failed; then `watched` is older. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Never rejects. `name` undefined: all of them. */
  async look(name: string | undefined): Promise<void> {
    try {
      const names = name === undefined ? await this.#allNames() : [name];
      const sights = await this.#operator.inspectAll(names);
      this.#watched = sights.map((sight) => this.#remember(sight));
      this.#trouble = undefined;
    } catch (error) {
      this.#trouble = describe(error);
    }
  }

  #remember(sight: Sight): Watched {
    const history = this.#histories.get(sight.name) ?? new History();
    this.#histories.set(sight.name, history);
    history.add(performance.now(), sight);
    return { sight, history };
  }

  async #allNames(): Promise<readonly string[]> {
    const now = performance.now();
    if (now - this.#namesAt >= NAMES_EVERY) {
      this.#names = await this.#operator.names();
      this.#namesAt = now;
    }
    return this.#names;
  }
}
