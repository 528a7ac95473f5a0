import { describe } from '../failure.js';
import type { Operator, SemaphoreSummary, Unreadable } from '../operator.js';
import { unreadable } from '../status-table.js';
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
  #failed = false;
  #seenAt: number | undefined;

  constructor(operator: Operator) {
    this.#operator = operator;
  }

  /** What was seen last. */
  get watched(): readonly Watched[] {
    return this.#watched;
  }

  /** When that was, by the monotonic clock; undefined before the first look. */
  get seenAt(): number | undefined {
    return this.#seenAt;
  }

  /** Whether the last look failed; then `watched` is older. */
  get failed(): boolean {
    return this.#failed;
  }

  /** Why the last look failed, or which semaphores cannot be read. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Resolves with whether `watched` is new; never rejects. `name` undefined: all of them. */
  async look(name: string | undefined): Promise<boolean> {
    try {
      const names = name === undefined ? await this.#allNames() : [name];
      const summaries = await this.#operator.inspectAll(names);
      const damaged = summaries.filter((summary) => 'error' in summary);
      this.#watched = summaries.flatMap((summary) =>
        'error' in summary ? [] : [this.#remember(summary)],
      );
      this.#seenAt = performance.now();
      this.#trouble = damaged.length > 0 ? troubleOf(damaged) : undefined;
      this.#failed = false;
    } catch (error) {
      this.#trouble = describe(error);
      this.#failed = true;
    }
    return !this.#failed;
  }

  #remember(summary: SemaphoreSummary): Watched {
    const history = this.#histories.get(summary.name) ?? new History();
    this.#histories.set(summary.name, history);
    history.add(performance.now(), summary);
    return { summary, history };
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

function troubleOf(damaged: readonly Unreadable[]): string {
  return damaged.map((each) => `${JSON.stringify(each.name)} ${unreadable(each)}`).join('; ');
}
