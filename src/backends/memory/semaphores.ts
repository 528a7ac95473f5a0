import type { SemaphoreKey } from '../backend.js';
import { placeOf } from '../place-of.js';
import type { Named } from './heap-by-id.js';
import { HeapById } from './heap-by-id.js';
import type { Inboxes } from './inboxes.js';
import { MemorySemaphore } from './memory-semaphore.js';
import { RisingNumbers } from './rising-numbers.js';
import type { SemaphoreRecord } from './semaphore-record.js';

/** Names that stay in use without tickets and requests: a call costs less for these. */
const MOST_IDLE = 1000;

/** Records that have ended, of which each call drops that many: more than it can add. */
const MOST_DROPPED = 10;

interface Rest extends Named {
  readonly record: SemaphoreRecord;
  readonly until: number;
}

/**
 * The semaphores of a memory backend, by place. Beyond some number, what nobody holds or waits for
 * is kept as a record alone, until nothing in that counts.
 */
export class Semaphores {
  readonly #numbers = new RisingNumbers();
  readonly #inboxes: Inboxes;
  readonly #inUse = new Map<string, MemorySemaphore>();
  readonly #resting = new HeapById<Rest>(({ until }) => until);
  /** Where the search for semaphores that nobody calls any more continues. */
  #unlooked = this.#inUse.entries();

  constructor(inboxes: Inboxes) {
    this.#inboxes = inboxes;
  }

  /** Names that take memory. */
  get size(): number {
    return this.#inUse.size + this.#resting.size;
  }

  /** Calls the semaphore of that key. */
  on<R>(key: SemaphoreKey, now: number, serve: (semaphore: MemorySemaphore) => R): R {
    const place = placeOf(key);
    let semaphore = this.#inUse.get(place);
    if (semaphore === undefined || semaphore.isForgottenAt(now)) {
      this.#lookAtOthers(now);
      semaphore = new MemorySemaphore(key, this.#numbers, this.#inboxes, this.#wake(place, now));
      this.#inUse.set(place, semaphore);
    }
    const reply = serve(semaphore);
    this.#settle(place, semaphore, now);
    this.#dropEnded(now);
    return reply;
  }

  /** The places of those that somebody would miss. */
  placesAt(now: number): string[] {
    const used = [...this.#inUse].filter(([, semaphore]) => {
      const record = semaphore.atRest(now);
      return record === undefined || record.emptyAt > now;
    });
    const resting = [...this.#resting.values()].filter(({ until }) => until > now);
    return [...used.map(([place]) => place), ...resting.map(({ id }) => id)];
  }

  #wake(place: string, now: number): SemaphoreRecord | undefined {
    const rest = this.#resting.remove(place);
    return rest !== undefined && rest.until > now ? rest.record : undefined;
  }

  #settle(place: string, semaphore: MemorySemaphore, now: number): void {
    if (this.#inUse.size <= MOST_IDLE) return;
    const record = semaphore.atRest(now);
    if (record === undefined) return;
    this.#inUse.delete(place);
    const until = record.emptyAt;
    if (until > now) this.#resting.add({ id: place, record, until, place: 0 });
  }

  /**
   * Tickets that were left to expire, in semaphores that are not called again, must not pile up.
   * Each new semaphore looks at two others: so the look gets round, however fast new ones come.
   */
  #lookAtOthers(now: number): void {
    for (let looks = 0; looks < 2; looks += 1) {
      const { value } = this.#unlooked.next();
      if (value === undefined) {
        this.#unlooked = this.#inUse.entries();
        return;
      }
      const [place, semaphore] = value;
      this.#settle(place, semaphore, now);
    }
  }

  #dropEnded(now: number): void {
    for (let dropped = 0; dropped < MOST_DROPPED; dropped += 1) {
      const { lowest } = this.#resting;
      if (lowest === undefined || lowest.until > now) return;
      this.#resting.remove(lowest.id);
    }
  }
}
