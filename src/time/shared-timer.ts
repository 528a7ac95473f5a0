import { type Clock, LONGEST_TIMER, nextTick, type Timer, timerSource } from './clock.js';

const shared = new WeakMap<Clock, SharedTimer>();

/**
 * How much earlier than asked a wake-up may come that does not need its exact moment: a part of its
 * delay, with a maximum in ms.
 */
const EARLY = 1 / 4;
const EARLIEST_MS = 2500;

/**
 * One timer of a clock for all alarms. Alarms that are due at the same moment ring in the same
 * turn of the event loop, so that the calls it makes travel together: Node runs ticks between two
 * of its timers.
 *
 * Most wake-ups are stopped and set to a later time with each call. So the timer ends a tick after
 * the last wake-up was stopped: mostly the next wake-up has been set by then.
 */
class SharedTimer {
  readonly #clock: Clock;
  /** Wake-ups that are set. A set or map would make a new table for most calls of a lone caller. */
  readonly #wakeups: Wakeup[] = [];
  /** How many of them keep the process alive. */
  #keeping = 0;
  #timer: Timer | undefined;
  #at = Infinity;
  /** Whether the timer keeps the process alive. */
  #keepsAlive = false;
  /** The process's timer function then: a fake function may be gone, or there, by now. */
  #setBy: unknown;

  static of(clock: Clock): SharedTimer {
    const timer = shared.get(clock) ?? new SharedTimer(clock);
    shared.set(clock, timer);
    return timer;
  }

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** It is set to `wakeup.at`, or set to an earlier time than it was. */
  add(wakeup: Wakeup, now: number): void {
    if (wakeup.index < 0) {
      wakeup.index = this.#wakeups.push(wakeup) - 1;
      if (wakeup.keepAlive) this.#keeping += 1;
    }
    // A timer that should have fired may belong to a fake clock that is gone.
    const isLate = this.#at <= now || this.#setBy !== timerSource();
    if (wakeup.at < this.#at || isLate) this.#set(isLate ? this.#earliest() : wakeup.at, now);
    else if (this.#keeping > 0 && !this.#keepsAlive) this.#keepAlive(true);
  }

  remove(wakeup: Wakeup): void {
    if (wakeup.index < 0) return;
    const last = this.#wakeups.pop();
    if (last !== undefined && last !== wakeup) {
      this.#wakeups[wakeup.index] = last;
      last.index = wakeup.index;
    }
    wakeup.index = -1;
    if (wakeup.keepAlive) this.#keeping -= 1;
    if (this.#keeping === 0 && this.#keepsAlive) this.#keepAlive(false);
    if (this.#wakeups.length === 0) nextTick(this.#check);
  }

  readonly #check = (): void => {
    if (this.#wakeups.length === 0) this.#stop();
  };

  #keepAlive(on: boolean): void {
    this.#keepsAlive = on;
    if (this.#timer?.keepAlive !== undefined) this.#timer.keepAlive(on);
    else this.#set(this.#at, this.#clock.monotonic());
  }

  #set(at: number, now: number): void {
    this.#stop();
    if (at === Infinity) return;
    this.#at = at;
    this.#setBy = timerSource();
    this.#keepsAlive = this.#keeping > 0;
    // Timers may fire a little early, and long ones are set in parts.
    const delay = Math.min(Math.ceil(at - now), LONGEST_TIMER);
    this.#timer = this.#clock.schedule(this.#onTimer, delay, this.#keepsAlive);
  }

  #stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#at = Infinity;
  }

  readonly #onTimer = (): void => {
    const now = this.#clock.monotonic();
    // Once one wake-up must ring, all ring that may, the earliest first.
    const due = this.#earliest() <= now ? this.#wakeups.filter(({ from }) => from <= now) : [];
    for (const wakeup of due) this.remove(wakeup);
    this.#set(this.#earliest(), now);
    for (const wakeup of due.toSorted((a, b) => a.at - b.at)) wakeup.ring();
  };

  #earliest(): number {
    return this.#wakeups.reduce((earliest, { at }) => Math.min(earliest, at), Infinity);
  }
}

/** Calls back when its time has come. It is set, moved and stopped as often as its owner likes. */
export class Wakeup {
  /** Monotonic time; Infinity while it is not set. */
  at: number = Infinity;
  /** It may come from then on, together with others. */
  from = 0;
  /** For its timer: its index there. -1: it is not set, or about to ring. */
  index = -1;
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
    this.at = at;
    this.from = from;
    this.#timer.add(this, now);
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
    this.at = Infinity;
    this.#timer.remove(this);
  }

  /** For its timer. An error of its callback keeps no other wake-up asleep. */
  ring(): void {
    // Another that has rung may have stopped it, or set it.
    if (this.at === Infinity || this.index >= 0) return;
    this.stop();
    try {
      this.#callback();
    } catch (thrown) {
      process.nextTick(() => {
        throw thrown;
      });
    }
  }
}
