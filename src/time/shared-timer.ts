import { type Clock, LONGEST_TIMER, nextTick, type Timer, timerSource } from './clock.js';

/** Of a clock: the timer that lets the process end, and the timer that keeps it alive. */
interface Pair {
  readonly timers: SharedTimer[];
  /** The process's timer function when a timer was last set: a fake function may be gone by now. */
  setBy: unknown;
}

const shared = new WeakMap<Clock, Pair>();

/**
 * How much earlier than asked a wake-up may come that does not need its exact moment: a part of its
 * delay.
 */
const EARLY = 1 / 4;

/**
 * One timer of a clock for all alarms of a kind. Alarms that are due at the same moment ring in the
 * same turn of the event loop, so that the calls they make travel together: Node runs ticks between
 * two of its timers.
 *
 * Most wake-ups are stopped and set to a later time with each call. So the timer ends a tick after
 * the last wake-up was stopped: mostly the next wake-up has been set by then.
 */
class SharedTimer {
  readonly #clock: Clock;
  readonly #keepsAlive: boolean;
  /** Wake-ups that are set. A set or map would make a new table for most calls of a lone caller. */
  readonly #wakeups: Wakeup[] = [];
  #timer: Timer | undefined;
  #at = Infinity;
  readonly #pair: Pair;

  static of(clock: Clock, keepsAlive: boolean): SharedTimer {
    const pair = shared.get(clock) ?? { timers: [], setBy: undefined };
    shared.set(clock, pair);
    const known = pair.timers.find((timer) => timer.#keepsAlive === keepsAlive);
    const timer = known ?? new SharedTimer(clock, keepsAlive, pair);
    if (known === undefined) pair.timers.push(timer);
    return timer;
  }

  constructor(clock: Clock, keepsAlive: boolean, pair: Pair) {
    this.#clock = clock;
    this.#keepsAlive = keepsAlive;
    this.#pair = pair;
  }

  /** It is set to `wakeup.at`, or set to an earlier time than it was. */
  add(wakeup: Wakeup, now: number): void {
    if (wakeup.index < 0) wakeup.index = this.#wakeups.push(wakeup) - 1;
    // Timers of a fake clock that is gone do not fire, of whatever kind they are.
    if (this.#pair.setBy !== timerSource()) this.#pair.timers.forEach((each) => each.#set(now));
    else if (this.#at <= now || wakeup.at < this.#at) this.#set(now);
  }

  remove(wakeup: Wakeup): void {
    if (wakeup.index < 0) return;
    const last = this.#wakeups.pop();
    if (last !== undefined && last !== wakeup) {
      this.#wakeups[wakeup.index] = last;
      last.index = wakeup.index;
    }
    wakeup.index = -1;
    if (this.#wakeups.length === 0) nextTick(this.#check);
  }

  readonly #check = (): void => {
    if (this.#wakeups.length === 0) this.#stop();
  };

  #set(now: number): void {
    this.#stop();
    if (this.#wakeups.length === 0) return;
    this.#at = this.#earliest();
    this.#pair.setBy = timerSource();
    // Timers may fire a little early, and long ones are set in parts.
    const delay = Math.min(Math.ceil(this.#at - now), LONGEST_TIMER);
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
    this.#set(now);
    // Each in a separate tick: an error in one keeps no other asleep.
    for (const wakeup of due.toSorted((a, b) => a.at - b.at)) nextTick(() => wakeup.ring());
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
  readonly #timer: SharedTimer;
  readonly #callback: () => void;

  /** `keepsAlive`: the process stays alive for it. */
  constructor(clock: Clock, keepsAlive: boolean, callback: () => void) {
    this.#timer = SharedTimer.of(clock, keepsAlive);
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
    this.wakeBy(at, now, at - Math.max(0, at - now) * EARLY);
  }

  stop(): void {
    this.at = Infinity;
    this.#timer.remove(this);
  }

  /** For its timer. */
  ring(): void {
    // Another that has rung may have stopped it, or set it.
    if (this.at === Infinity || this.index >= 0) return;
    this.stop();
    this.#callback();
  }
}
