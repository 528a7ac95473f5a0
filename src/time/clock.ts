/** A pending timer. `cancel` after it fired does nothing. */
export interface Timer {
  /** It does not run any more; nothing where it has run. */
  cancel(): void;
}

/**
 * Where the library reads time and sets timers. Local time only schedules waiting and extending and
 * shows when a lease may have run out; whether a ticket is alive is always decided by its backend.
 */
export interface Clock {
  /** Milliseconds that never step back (monotonic), from any origin. */
  monotonic(): number;
  /**
   * Milliseconds since the Unix epoch. Read beside `monotonic`, because that one stops while a
   * machine is suspended.
   */
  wall(): number;
  /**
   * Runs `callback` once after `delay` milliseconds.
   * `keepAlive: true` keeps the process alive for it, as Node's own timers do.
   */
  schedule(callback: () => void, delay: number, keepAlive: boolean): Timer;
  /**
   * 0 ≤ x < 1, for pauses and the names of processes: with it a simulated run can be repeated.
   * Default: Node's own sources of chance.
   */
  random?(): number;
}

/**
 * Node fires timers of more than 2^31-1 ms at once, so longer ones are cut to that and set again by
 * their owner.
 */
export const LONGEST_TIMER = 2_147_483_647;

/** The process's own clock. Globals are looked up at each call, so that fake timers work. */
export const systemClock: Clock = {
  monotonic: () => performance.now(),
  wall: () => Date.now(),
  schedule(callback, delay, keepAlive) {
    const timer = setTimeout(callback, Math.min(Math.max(0, delay), LONGEST_TIMER));
    if (!keepAlive) timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

/** The same from an origin that all threads of the process share. */
export const threadClock: Clock = {
  ...systemClock,
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
};

/** The function that makes the process's timers now: tests replace it. */
export function timerSource(): unknown {
  return setTimeout;
}

/**
 * Node's own, also while a test fakes it: calls gather until the next tick, and a tick that a fake
 * never made would keep all calls of the process from leaving, long after that test.
 */
export const nextTick: typeof process.nextTick = process.nextTick.bind(process);

/** By chance, 0 ≤ x < 1. */
export function randomBy(clock: Clock): number {
  return clock.random?.() ?? Math.random();
}

/** A point in time on both local clocks. */
export interface Instant {
  readonly monotonic: number;
  readonly wall: number;
}

export function instant(clock: Clock): Instant {
  return { monotonic: clock.monotonic(), wall: clock.wall() };
}

/**
 * Milliseconds since `start`: the larger of what the two local clocks say. Monotonic time stops
 * while a virtual machine is suspended, and the wall clock may be set back: a lease must survive
 * neither. `now`: the monotonic time, where it was read a moment ago.
 */
export function elapsedSince(
  start: Instant,
  clock: Clock,
  now: number = clock.monotonic(),
): number {
  return Math.max(now - start.monotonic, clock.wall() - start.wall);
}
