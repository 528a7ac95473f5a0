/** Something that will happen. */
export interface Happening {
  readonly at: number;
  cancel(): void;
}

interface Entry extends Happening {
  readonly order: number;
  run: (() => void | Promise<void>) | undefined;
}

/**
 * Virtual time in milliseconds, and what happens in it: one thing after the other, never two at
 * once.
 */
export class Scheduler {
  now = 0;
  /** How many things have happened. */
  steps = 0;
  #order = 0;
  readonly #heap: Entry[] = [];

  at(time: number, run: () => void | Promise<void>): Happening {
    const entry: Entry = {
      at: Math.max(time, this.now),
      order: this.#order++,
      run,
      cancel: () => (entry.run = undefined),
    };
    this.#push(entry);
    return entry;
  }

  after(delay: number, run: () => void | Promise<void>): Happening {
    return this.at(this.now + delay, run);
  }

  /**
   * Runs until nothing is left or `until` says so; `between` is called when all that a step has set
   * off has come to rest.
   */
  async run(until: () => boolean, between: () => void): Promise<void> {
    for (let entry = this.#pop(); entry !== undefined; entry = this.#pop()) {
      const { run } = entry;
      if (run === undefined) continue;
      this.now = entry.at;
      this.steps += 1;
      const pending = run();
      if (pending !== undefined) await pending;
      // By then all ticks and microtasks have run, those that came up meanwhile, too.
      await new Promise((resolve) => void setImmediate(resolve));
      between();
      if (until()) return;
    }
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      const above = heap[parent];
      if (above === undefined || isBefore(above, entry)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = entry;
  }

  #pop(): Entry | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (first === undefined || last === undefined || first === last) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      let below = heap[child];
      const right = heap[child + 1];
      if (right !== undefined && below !== undefined && isBefore(right, below)) {
        child += 1;
        below = right;
      }
      if (below === undefined || isBefore(last, below)) break;
      heap[at] = below;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(one: Entry, other: Entry): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}
