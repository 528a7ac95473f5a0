import type { Call, InspectReply, Reply } from '../backend.js';

/** What a reply says of limits. */
export type Limits = Pick<Reply, 'storedLimit' | 'otherLimit'>;

/** Which limit counts for one semaphore, and what its callers are told of it; as `state.lua` has it. */
export class LimitRecord {
  /** What `setLimit` stored. */
  stored: number | undefined;
  /** That of the last caller. */
  #last = 0;

  /** The limit that is known here, and where it is from; else the one that is given. */
  show(given: number): Pick<InspectReply, 'limit' | 'limitFrom'> {
    if (this.stored !== undefined) return { limit: this.stored, limitFrom: 'setLimit' };
    return this.#last > 0
      ? { limit: this.#last, limitFrom: 'caller' }
      : { limit: given, limitFrom: 'options' };
  }

  /** The call with the limit that counts, and what its reply says. `busy`: somebody holds or waits. */
  begin<C extends Call>(given: C, busy: boolean): { call: C; limits: Limits } {
    const limit = given.limit === 0 ? this.#last : given.limit;
    const other = busy && this.stored === undefined && this.#last !== limit;
    const limits = {
      ...(this.stored !== undefined && this.stored !== limit && { storedLimit: this.stored }),
      ...(other && { otherLimit: this.#last }),
    };
    this.#last = limit;
    return { call: { ...given, limit: this.stored ?? limit }, limits };
  }
}
