import type { CallTerms } from './call-terms.js';
import { WeakGroups } from './weak-groups.js';

/**
 * The lanes of one kind: one for each set of semaphores that may share a call, and each time limit
 * of a call.
 */
export class Lanes<Lane extends object> {
  readonly #open: (limit: number) => Lane;
  // Its semaphores keep a lane alive: on a cluster and on several masters there may be as many as
  // there are of those.
  readonly #lanes = new WeakGroups<Lane>();

  constructor(open: (limit: number) => Lane) {
    this.#open = open;
  }

  /** `limit`: how long its calls may take, in milliseconds. */
  of(terms: CallTerms, limit: number): Lane {
    const name = `${limit} ${terms.lane}`;
    let [lane] = this.#lanes.of(name);
    if (lane === undefined) this.#lanes.add(name, (lane = this.#open(limit)));
    return lane;
  }
}
