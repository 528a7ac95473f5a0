import type { Reply } from '../backends/backend.js';
import type { Lane, Sendable } from './lane.js';

/** The lanes of one kind: one for each set of semaphores that may share a call, and each time limit of a call. */
export class Lanes<Item extends Sendable, R extends Reply> {
  readonly #open: (limit: number) => Lane<Item, R>;
  readonly #lanes = new Map<string, Lane<Item, R>>();

  constructor(open: (limit: number) => Lane<Item, R>) {
    this.#open = open;
  }

  /** `limit`: how long its call may take, in milliseconds. */
  add(item: Item, limit: number): void {
    const name = `${limit} ${item.terms.lane}`;
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      this.#dropIdle();
      this.#lanes.set(name, (lane = this.#open(limit)));
    }
    lane.add(item);
  }

  /** On a cluster and on several masters there may be as many as there are semaphores. */
  #dropIdle(): void {
    if (this.#lanes.size < MOST_IDLE) return;
    for (const [name, lane] of this.#lanes) if (lane.idle) this.#lanes.delete(name);
  }
}

const MOST_IDLE = 1000;
