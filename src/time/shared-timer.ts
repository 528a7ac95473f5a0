import type { Clock, Timer } from './clock.js';
import { LONGEST_TIMER, timerSource } from './clock.js';
import { Heap } from './heap.js';

/** By clock: the timer that keeps the process alive, and the one that does not. */
const shared = new WeakMap<Clock, readonly [SharedTimer, SharedTimer]>();

/**
 * How much earlier than asked a wake-up may come that does not need its exact moment: a part of its
 * delay, with a maximum in ms.
 */
const EARLY = 1 / 4;
const EARLIEST_MS = 2500;

const NOWHERE = -1;

/** How many that were stopped are kept in the heap beside as many as are set. */
const MOST_STOPPED = 64;

/** A place in the heap. It outlives a stop, and keeps nobody in memory then. */
class Slot {
  place: number = NOWHERE;
  /** The time by which it has that place: no later than that of its wake-up. */
  rank: number;
  /** Undefined: it was stopped. */
  wakeup: Wakeup | undefined;

  constructor(wakeup: Wakeup) {
    this.rank = wakeup.at;
    this.wakeup = wakeup;
  }
}

/**
 * One timer of a clock for all that must be woken. What is due at the same moment wakes in the same
 * turn of the event loop, so that the calls it makes travel together: Node runs ticks between two
 * of its timers.
 *
 * Most are stopped and set to a later time with each call. So they keep their place in the heap,
 * which is put right when that comes up.
 */
class SharedTimer {
  readonly #clock: Clock;
  readonly #keepAlive: boolean;
  readonly #slots = new Heap<Slot>(({ rank }) => rank);
  /** How many are set. */
  #count = 0;
  #timer: Timer | undefined;
  #at = Infinity;
  /** What was the process's timer function then: a fake one may be gone, or there, by now. */
  #setBy: unknown;

  static of(clock: Clock, keepAlive: boolean): SharedTimer {
    let both = shared.get(clock);
    if (both === undefined) {
      both = [new SharedTimer(clock, true), new SharedTimer(clock, false)];
      shared.set(clock, both);
    }
    return both[keepAlive ? 0 : 1];
  }

  constructor(clock: Clock, keepAlive: boolean) {
    this.#clock = clock;
    this.#keepAlive = keepAlive;
  }

  /** It is set, or set to an earlier time than it was. */
  onSet(wakeup: Wakeup, isNew: boolean, now: number): void {
    if (isNew) this.#count += 1;
    const slot = this.#slotOf(wakeup);
    // One that should have fired may belong to a fake clock that is gone.
    const isLate = this.#at <= now || this.#setBy !== timerSource();
    if (slot.rank < this.#at || isLate) this.#set(now);
  }

  #slotOf(wakeup: Wakeup): Slot {
    const { slot } = wakeup;
    if (slot === undefined || slot.place === NOWHERE) {
      const added = new Slot(wakeup);
      wakeup.slot = added;
      this.#slots.add(added);
      return added;
    }
    slot.wakeup = wakeup;
    if (wakeup.at < slot.rank) {
      slot.rank = wakeup.at;
      this.#slots.moved(slot);
    }
    return slot;
  }

  onStopped(slot: Slot): void {
    slot.wakeup = undefined;
    this.#count -= 1;
    if (this.#count === 0) this.#stop();
    this.#sweep();
  }

  #sweep(): void {
    if (this.#count > 0 && this.#slots.size <= 2 * this.#count + MOST_STOPPED) return;
    for (const slot of this.#slots.all()) if (slot.wakeup === undefined) this.#remove(slot);
  }

  #remove(slot: Slot): void {
    this.#slots.remove(slot);
    slot.place = NOWHERE;
  }

  #set(now: number): void {
    this.#stop();
    const at = this.#slots.lowest?.rank;
    if (at === undefined || this.#count === 0) return;
    this.#at = at;
    this.#setBy = timerSource();
    // Timers may fire a little early, and long ones are set in parts.
    const delay = Math.min(Math.ceil(at - now), LONGEST_TIMER);
    this.#timer = this.#clock.schedule(this.#onTimer, delay, this.#keepAlive);
  }

  #stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#at = Infinity;
  }

  readonly #onTimer = (): void => {
    const now = this.#clock.monotonic();
    const due = this.#due(now);
    this.#count -= due.length;
    const wakeups = due.map(({ wakeup }) => wakeup);
    for (const slot of due) this.#remove(slot);
    this.#sweep();
    this.#set(now);
    for (const wakeup of wakeups) wakeup?.ring();
  };

  /** Once one must be woken, those that may be woken are, too. */
  #due(now: number): Slot[] {
    let lowest = this.#slots.lowest;
    for (; lowest !== undefined && lowest.rank <= now; lowest = this.#slots.lowest) {
      const { wakeup } = lowest;
      if (wakeup === undefined) this.#remove(lowest);
      else if (wakeup.at <= now) return this.#slots.upTo(now + EARLIEST_MS).filter(mayWakeAt(now));
      else {
        lowest.rank = wakeup.at;
        this.#slots.moved(lowest);
      }
    }
    return [];
  }
}

function mayWakeAt(now: number): (slot: Slot) => boolean {
  return ({ wakeup }) => wakeup !== undefined && wakeup.from <= now;
}

/** Calls back when its time has come. It is set, moved and stopped as often as its owner likes. */
export class Wakeup {
  /** Where it is in the heap of its timer; not there any more when it is due. */
  slot: Slot | undefined = undefined;
  /** Monotonic time; Infinity while it is not set. */
  at: number = Infinity;
  /** It may come from then on, together with others. */
  from: number = Infinity;
  readonly #timer: SharedTimer;
  readonly #callback: () => void;

  /** `keepAlive`: whether the process stays alive for it. */
  constructor(clock: Clock, keepAlive: boolean, callback: () => void) {
    this.#timer = SharedTimer.of(clock, keepAlive);
    this.#callback = callback;
  }

  /** Wakes at the monotonic time `at` or earlier; `now` is that time now. */
  wakeBy(at: number, now: number, from: number = at): void {
    if (at >= this.at) return;
    const isNew = this.at === Infinity || this.#placed() === undefined;
    this.at = at;
    this.from = from;
    this.#timer.onSet(this, isNew, now);
  }

  /**
   * As `wakeBy`, but up to a quarter of the delay earlier if others wake then: what they set off
   * shares its calls.
   */
  wakeAround(at: number, now: number): void {
    const early = Math.min(Math.max(0, at - now) * EARLY, EARLIEST_MS);
    this.wakeBy(at, now, at - early);
  }

  stop(): void {
    if (this.at === Infinity) return;
    this.at = Infinity;
    this.from = Infinity;
    const slot = this.#placed();
    if (slot !== undefined) this.#timer.onStopped(slot);
  }

  #placed(): Slot | undefined {
    return this.slot === undefined || this.slot.place === NOWHERE ? undefined : this.slot;
  }

  /** For its timer. What it throws keeps none of the others asleep. */
  ring(): void {
    // Others that rang before it may have stopped it, or set it again.
    if (this.at === Infinity || this.#placed() !== undefined) return;
    this.at = Infinity;
    this.from = Infinity;
    try {
      this.#callback();
    } catch (thrown) {
      process.nextTick(() => {
        throw thrown;
      });
    }
  }
}
