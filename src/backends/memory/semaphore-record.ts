import { KEYS_LIFE_MS } from '../protocol.js';
import { LimitRecord } from './limit-record.js';
import { RateRecord } from './rate-record.js';
import { Recent } from './recent.js';

/** What is known of a semaphore besides its tickets and requests: all of it, where it has none. */
export class SemaphoreRecord {
  readonly limits: LimitRecord = new LimitRecord();
  readonly rate: RateRecord = new RateRecord();
  /** Revoked tickets, until they would have expired. */
  readonly revoked: Recent<true> = new Recent();
  /** The last call, or the latest end of a ticket. */
  #lastUse = -Infinity;

  /** It is used, or a ticket may live until then. */
  use(at: number): void {
    this.#lastUse = Math.max(this.#lastUse, at);
  }

  /** From when on nothing stored counts any more: nobody has used it for so long. */
  get forgottenAt(): number {
    return Math.max(this.#lastUse, this.rate.lastTurn) + KEYS_LIFE_MS;
  }

  /** From when on nobody would miss it. */
  get emptyAt(): number {
    const { limits, rate, revoked, forgottenAt } = this;
    if (limits.stored !== undefined) return forgottenAt;
    return Math.min(forgottenAt, Math.max(rate.emptyAt, revoked.emptyAt));
  }
}
