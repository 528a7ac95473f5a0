import type { AcquireCall, Rate, RateState } from '../backend.js';
import type { Arrivals } from '../gcra.js';
import {
  afterGrant,
  microseconds,
  NO_ARRIVALS,
  onClockAt,
  timeAllowed,
  unasked,
  underRate,
} from '../gcra.js';
import { RATE_LIFE_MS } from '../protocol.js';

/** `rate` null: it is stored that there is none. `until` in milliseconds; undefined: stored. */
interface Known {
  readonly rate: Rate | null;
  readonly until: number | undefined;
}

/**
 * Which rate counts for one semaphore, and what was used of it; as `rate.lua` has it. Time is
 * handed in, in milliseconds.
 */
export class RateRecord {
  #known: Known | undefined;
  #arrivals: Arrivals = NO_ARRIVALS;
  /** The one under which these were noted last. */
  #last: Rate | undefined;

  /** What every call begins with: a rate that nobody has named for long is over. */
  begin(now: number): void {
    const at = microseconds(now);
    const arrivals = onClockAt(at, this.#arrivals);
    this.#known = this.#knownAt(now);
    if (this.#known !== undefined) this.#arrivals = arrivals;
    else if (arrivals.tat <= at) this.#arrivals = NO_ARRIVALS;
  }

  /** The caller's counts where none is stored. */
  name({ rate }: AcquireCall, now: number): void {
    const known = this.#known;
    if (rate === undefined || (known !== undefined && known.until === undefined)) return;
    const life = Math.max(rate.per, RATE_LIFE_MS);
    const named = known?.rate;
    const isSame = named && sameRate(named, rate);
    if (isSame === true && (known?.until ?? 0) - now >= life / 2) return;
    this.#use(rate, now + life, now);
  }

  /** Undefined: nobody is held back, whatever callers name. */
  store(rate: Rate | undefined, now: number): void {
    if (rate !== undefined) return this.#use(rate, undefined, now);
    this.#known = { rate: null, until: undefined };
    this.#arrivals = NO_ARRIVALS;
  }

  allows(permits: number, now: number): boolean {
    return (this.#timeFor(permits, 0, now) ?? 0) <= microseconds(now);
  }

  charge(permits: number, now: number): void {
    const rate = this.#known?.rate ?? undefined;
    if (rate === undefined) return;
    this.#arrivals = afterGrant(rate, this.#arrivals, microseconds(now), permits);
  }

  /**
   * When it allows a request behind as many others, in milliseconds, where it holds it back now.
   */
  turn(permits: number, ahead: () => number, now: number): number | undefined {
    if (this.allows(permits, now)) return undefined;
    const time = this.#timeFor(permits, ahead(), now);
    return time && Math.ceil(time) / 1000;
  }

  /** Until when what was granted counts, in milliseconds. */
  get lastTurn(): number {
    return this.#arrivals.tat / 1000;
  }

  /** From when on nobody would miss it. */
  get emptyAt(): number {
    const known = this.#known;
    if (known !== undefined && known.until === undefined) return Infinity;
    return Math.max(known?.until ?? -Infinity, this.lastTurn);
  }

  /** Whether there is one. Changes nothing, as the next one. */
  countsAt(now: number): boolean {
    return (this.#knownAt(now)?.rate ?? null) !== null;
  }

  show(given: Rate | undefined, now: number): RateState | undefined {
    const known = this.#knownAt(now);
    if (known === undefined) return unasked(given);
    const { rate, until } = known;
    if (rate === null) return undefined;
    const at = microseconds(now);
    const next = timeAllowed(rate, onClockAt(at, this.#arrivals), at, 1, 0);
    const from = until === undefined ? 'setRate' : 'caller';
    return { ...rate, from, nextIn: Math.max(0, next - at) / 1000 };
  }

  #knownAt(now: number): Known | undefined {
    return (this.#known?.until ?? Infinity) > now ? this.#known : undefined;
  }

  #use(rate: Rate, until: number | undefined, now: number): void {
    const [at, before] = [microseconds(now), this.#last ?? rate];
    this.#arrivals = underRate(rate, before, onClockAt(at, this.#arrivals), at);
    this.#known = { rate, until };
    this.#last = rate;
  }

  #timeFor(permits: number, ahead: number, now: number): number | undefined {
    const rate = this.#known?.rate ?? undefined;
    return rate && timeAllowed(rate, this.#arrivals, microseconds(now), permits, ahead);
  }
}

function sameRate(one: Rate, other: Rate): boolean {
  return one.permits === other.permits && one.per === other.per && one.burst === other.burst;
}
