import type { Clock, Timer } from './clock.js';
import { LONGEST_TIMER, timerSource } from './clock.js';
import { Heap } from './heap.js';

/** By clock: the timer that keeps the process alive, and the one that does not. */
const shared = new WeakMap<Clock, readonly [SharedTimer, SharedTimer]>();

/** How much earlier than asked a wake-up may come that does not need its exact moment: a part of its delay, at most so many ms. */
const EARLY = 1 / 4;
const EARLIEST_MS = 2500;

const NOWHERE = -1;

/**
 * One timer of a clock for all that must be woken. What is due at the same moment wakes in the same turn of the event
 * loop, so that the calls it makes travel together: Node runs ticks between two timers of its own.
 */
class SharedTimer {
  readonly #clock: Clock;
  readonly #keepAlive: boolean;
  readonly #wakeups = new Heap<Wakeup>((wakeup) => wakeup.at);
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

  add(wakeup: Wakeup, now: number): void {
    this.#wakeups.add(wakeup);
    // One that should have fired may belong to a fake clock that is gone.
    const isLate = this.#at <= now || this.#setBy !== timerSource();
    if (wakeup.at < this.#at || isLate) this.#set(now);
  }

  remove(wakeup: Wakeup): void {
    this.#wakeups.remove(wakeup);
    wakeup.place = NOWHERE;
    if (this.#wakeups.lowest === undefined) this.#stop();
  }

  #set(now: number): void {
    this.#stop();
    const at = this.#wakeups.lowest?.at;
    if (at === undefined) return;
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
    for (const wakeup of due) {
      this.#wakeups.remove(wakeup);
      wakeup.place = NOWHERE;
    }
    this.#set(now);
    for (const wakeup of due) wakeup.ring();
  };

  /** Once one must be woken, those that may be woken are, too. */
  #due(now: number): Wakeup[] {
    if ((this.#wakeups.lowest?.at ?? Infinity) > now) return [];
    return this.#wakeups.upTo(now + EARLIEST_MS).filter(({ from }) => from <= now);
  }
}

/** Calls back when its time has come. It is set, moved and stopped as often as its owner likes. */
export class Wakeup {
  /** Where it is in the heap of its timer; not there any more when it is due. */
  place: number = NOWHERE;
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
    this.stop();
    this.at = at;
    this.from = from;
    this.#timer.add(this, now);
  }

  /** As `wakeBy`, but up to a quarter of the delay earlier if others wake then: what they set off shares its calls. */
  wakeAround(at: number, now: number): void {
    const early = Math.min(Math.max(0, at - now) * EARLY, EARLIEST_MS);
    this.wakeBy(at, now, at - early);
  }

  stop(): void {
    if (this.at === Infinity) return;
    this.at = Infinity;
    if (this.place !== NOWHERE) this.#timer.remove(this);
  }

  /** For its timer. What it throws keeps none of the others asleep. */
  ring(): void {
    // Others that rang before it may have stopped it.
    if (this.at === Infinity) return;
    this.at = Infinity;
    try {
      this.#callback();
    } catch (thrown) {
      process.nextTick(() => {
        throw thrown;
      });
    }
  }
}
