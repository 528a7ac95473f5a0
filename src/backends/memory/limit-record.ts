import type { AddPermitsCall, AddPermitsReply, Call, InspectReply, Reply } from '../backend.js';
import { Recent } from './recent.js';

/** What a reply says of limits. */
export type Limits = Pick<Reply, 'storedLimit' | 'otherLimit'>;

const NOTHING: Limits = {};

/**
 * For how long a change that is sent again makes nothing new, in milliseconds; as `set-limit.lua`
 * has it.
 */
const CHANGE_LIFE_MS = 60_000;

/**
 * Which limit counts for one semaphore, and what its callers hear of it; as `semaphore.lua` has it.
 */
export class LimitRecord {
  /** What `setLimit` stored. */
  stored: number | undefined;
  /** That of the last caller; 0: not known. */
  #last = 0;
  /**
   * Whether anybody has ever held or waited: else nothing is known, as on Redis, where such a call
   * writes nothing.
   */
  used = false;

  /** The limits that changes of late made, by the ids of the changes. */
  readonly #changes = new Recent<number>();

  /** Stores the limit that the change makes, once for each id. */
  change(
    { id, delta, limit: given }: AddPermitsCall,
    now: number,
  ): Pick<AddPermitsReply, 'limit' | 'refused'> {
    const made = this.#changes.get(id, now);
    if (made !== undefined) return { limit: made };
    const before = this.countsFor(given);
    const limit = before + delta;
    if (limit < 0 || limit > Number.MAX_SAFE_INTEGER) return { limit: before, refused: true };
    this.#changes.remember(id, limit, now + CHANGE_LIFE_MS, now);
    this.stored = limit;
    return { limit };
  }

  /**
   * Makes a change of the stored limit. An operator may know the stored limit alone: its call says
   * nothing of the limit that others are made with.
   */
  keepCallers<T>(change: () => T): T {
    const before = this.#last;
    const result = change();
    if (before !== 0) this.#last = before;
    return result;
  }

  /** The limit that counts for a caller that names `given`; 0: what the last caller named. */
  countsFor(given: number): number {
    return this.stored ?? (given === 0 ? this.#last : given);
  }

  /** The limit that is known here, and where it is from; else the one that is given. */
  show(given: number): Pick<InspectReply, 'limit' | 'limitFrom'> {
    if (this.stored !== undefined) return { limit: this.stored, limitFrom: 'setLimit' };
    return this.used
      ? { limit: this.#last, limitFrom: 'caller' }
      : { limit: given, limitFrom: 'options' };
  }

  /** Notes the caller's limit, and gives what its reply says. `busy`: somebody holds or waits. */
  note({ limit }: Call, busy: boolean): Limits {
    const [before, stored] = [this.#last, this.stored];
    const own = limit === 0 ? before : limit;
    this.#last = own;
    if (stored !== undefined) return stored === own ? NOTHING : { storedLimit: stored };
    return busy && before !== own ? { otherLimit: before } : NOTHING;
  }
}
