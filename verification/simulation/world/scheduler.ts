import { Heap, type Heaped } from '../../../src/backends/heap.js';

/** Something that will happen. */
export interface Happening {
  cancel(): void;
}

interface Entry extends Happening, Heaped {
  readonly at: number;
  readonly order: number;
  run: (() => void | Promise<void>) | undefined;
}

/** Virtual time in milliseconds, and its happenings: one after the other, never two at once. */
export class Scheduler {
  now = 0;
  #order = 0;
  readonly #entries = new Heap<Entry>(
    (one, other) => one.at < other.at || (one.at === other.at && one.order < other.order),
  );

  at(time: number, run: () => void | Promise<void>): Happening {
    const entry: Entry = {
      at: Math.max(time, this.now),
      order: this.#order++,
      run,
      cancel: () => (entry.run = undefined),
      index: 0,
    };
    this.#entries.add(entry);
    return entry;
  }

  after(delay: number, run: () => void | Promise<void>): Happening {
    return this.at(this.now + delay, run);
  }

  /** Runs to the last happening, or until `until`; `between` is called when a step is at rest. */
  async run(until: () => boolean, between: () => void): Promise<void> {
    for (let entry = this.#entries.lowest; entry !== undefined; entry = this.#entries.lowest) {
      this.#entries.remove(entry);
      const { run } = entry;
      if (run === undefined) continue;
      this.now = entry.at;
      const pending = run();
      if (pending !== undefined) await pending;
      // By then all ticks and microtasks of the step have run.
      await new Promise((resolve) => void setImmediate(resolve));
      between();
      if (until()) return;
    }
  }
}
