import type { Clock, Timer } from './clock.js';
import { LONGEST_TIMER, nextTick, timerSource } from './clock.js';
import { Heap } from './heap.js';

const shared = new WeakMap<Clock, SharedTimer>();

/**
 * How much earlier than asked a wake-up may come that does not need its exact moment: a part of its
 * delay, with a maximum in ms.
 */
const EARLY = 1 / 4;
const EARLIEST_MS = 2500;

const NOWHERE = -1;

/** How many stopped wake-ups are kept in the heap beside as many as are set. */
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
 * Most wake-ups are stopped and set to a later time with each call. So they keep their place in the
 * heap, which is put right when that comes up. And the timer ends a tick after the last wake-up was
 * stopped: mostly the next one has been set by then.
 */
class SharedTimer {
  readonly #clock: Clock;
  readonly #slots = new Heap<Slot>(({ rank }) => rank);
  /** How many are set, and how many of these keep the process alive. */
  #count = 0;
  #keeping = 0;
  #timer: Timer | undefined;
  #at = Infinity;
  /** Whether the timer keeps the process alive. */
  #keepsAlive = false;
  #isChecking = false;
  /** What was the process's timer function then: a fake one may be gone, or there, by now. */
  #setBy: unknown;

  static of(clock: Clock): SharedTimer {
    let timer = shared.get(clock);
    if (timer === undefined) shared.set(clock, (timer = new SharedTimer(clock)));
    return timer;
  }

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** It is set, or set to an earlier time than it was. */
  onSet(wakeup: Wakeup, isNew: boolean, now: number): void {
    if (isNew) this.#count += 1;
    if (isNew && wakeup.keepAlive) this.#keeping += 1;
    const slot = this.#slotOf(wakeup);
    // A timer that should have fired may belong to a fake clock that is gone.
    const isLate = this.#at <= now || this.#setBy !== timerSource();
    if (slot.rank < this.#at || isLate) this.#set(now);
    else if (this.#keeping > 0 && !this.#keepsAlive) this.#keepAlive(true);
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

  onStopped(slot: Slot, wakeup: Wakeup): void {
    slot.wakeup = undefined;
    this.#count -= 1;
    if (wakeup.keepAlive) this.#keeping -= 1;
    this.#checkSoon();
    if (this.#count > 0) this.#sweep();
  }

  #checkSoon(): void {
    if (this.#isChecking || (this.#count > 0 && this.#keepsAlive === this.#keeping > 0)) return;
    this.#isChecking = true;
    nextTick(this.#check);
  }

  readonly #check = (): void => {
    this.#isChecking = false;
    if (this.#keeping === 0 && this.#keepsAlive) this.#keepAlive(false);
    if (this.#count > 0) return;
    this.#stop();
    this.#sweep();
  };

  #keepAlive(on: boolean): void {
    this.#keepsAlive = on;
    if (this.#timer?.keepAlive !== undefined) this.#timer.keepAlive(on);
    else this.#set(this.#clock.monotonic());
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
    this.#keepsAlive = this.#keeping > 0;
    this.#timer = this.#clock.schedule(this.#onTimer, delay, this.#keepsAlive);
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
    for (const slot of due) {
      if (slot.wakeup?.keepAlive === true) this.#keeping -= 1;
      this.#remove(slot);
    }
    this.#sweep();
    this.#set(now);
    for (const wakeup of wakeups) wakeup?.ring();
  };

  /** Once one wake-up must ring, all ring that may. */
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
  /** Whether the process stays alive for it. */
  readonly keepAlive: boolean;
  readonly #timer: SharedTimer;
  readonly #callback: () => void;

  constructor(clock: Clock, keepAlive: boolean, callback: () => void) {
    this.keepAlive = keepAlive;
    this.#timer = SharedTimer.of(clock);
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
    if (slot !== undefined) this.#timer.onStopped(slot, this);
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
