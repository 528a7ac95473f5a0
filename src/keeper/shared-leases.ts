import type { LostReason } from '../errors.js';

/** How many leases one keeper holds at most. The memory of those never used costs nothing. */
export const MOST_LEASES = 65_536;

/** Numbers of 64 bits in front of the leases: when the holders' thread was last seen alive. */
const HEAD = 1;

/** Numbers of 64 bits for each lease. */
const ENDS_BY = 0;
const ENDS_BY_WALL = 1;
const STATE = 2;
const WIDTH = 3;

/** States of a lease; the others are its losses. */
const KEPT = 0n;
const STOPPED = 1n;
const LOSSES: readonly LostReason[] = ['missing', 'revoked'];
const FIRST_LOSS = 2n;

/** A moment on both clocks of the machine, which all its threads share: milliseconds. */
export interface SharedMoment {
  readonly monotonic: number;
  readonly wall: number;
}

/**
 * What both threads know of leases, in memory that they share: the keeper's thread writes how long
 * each lease is valid, the holders' thread whether it is still wanted. Each number is read and
 * written at once; of two numbers that belong together the older one makes a lease end earlier.
 */
export class SharedLeases {
  readonly buffer: SharedArrayBuffer;
  readonly #numbers: BigInt64Array;

  static get most(): number {
    return MOST_LEASES;
  }

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(8 * (HEAD + WIDTH * MOST_LEASES))) {
    this.buffer = buffer;
    this.#numbers = new BigInt64Array(buffer);
  }

  /** The holders' thread is alive at that monotonic time. */
  beat(now: number): void {
    Atomics.store(this.#numbers, 0, inMicroseconds(now));
  }

  /** Milliseconds for which the holders' thread has stood still. */
  stillFor(now: number): number {
    return now - inMilliseconds(Atomics.load(this.#numbers, 0));
  }

  open(place: number, end: SharedMoment): void {
    this.setEnd(place, end);
    Atomics.store(this.#numbers, indexOf(place, STATE), KEPT);
  }

  setEnd(place: number, { monotonic, wall }: SharedMoment): void {
    Atomics.store(this.#numbers, indexOf(place, ENDS_BY), inMicroseconds(monotonic));
    Atomics.store(this.#numbers, indexOf(place, ENDS_BY_WALL), inMicroseconds(wall));
  }

  end(place: number): SharedMoment {
    const monotonic = Atomics.load(this.#numbers, indexOf(place, ENDS_BY));
    const wall = Atomics.load(this.#numbers, indexOf(place, ENDS_BY_WALL));
    return { monotonic: inMilliseconds(monotonic), wall: inMilliseconds(wall) };
  }

  /** The holders' thread wants it no more. */
  stop(place: number): void {
    Atomics.store(this.#numbers, indexOf(place, STATE), STOPPED);
  }

  isStopped(place: number): boolean {
    return Atomics.load(this.#numbers, indexOf(place, STATE)) === STOPPED;
  }

  /** A lease that was stopped meanwhile stays so. */
  lose(place: number, reason: LostReason): void {
    const loss = FIRST_LOSS + BigInt(Math.max(LOSSES.indexOf(reason), 0));
    Atomics.compareExchange(this.#numbers, indexOf(place, STATE), KEPT, loss);
  }

  loss(place: number): LostReason | undefined {
    return LOSSES[Number(Atomics.load(this.#numbers, indexOf(place, STATE)) - FIRST_LOSS)];
  }
}

function indexOf(place: number, field: number): number {
  return HEAD + place * WIDTH + field;
}

/** Rounded down: a lease ends no later than is known. */
function inMicroseconds(milliseconds: number): bigint {
  return BigInt(Math.floor(milliseconds * 1000));
}

function inMilliseconds(microseconds: bigint): number {
  return Number(microseconds) / 1000;
}

/** Milliseconds until that moment, by the clock that comes there first. */
export function until(end: SharedMoment, now: SharedMoment): number {
  return Math.min(end.monotonic - now.monotonic, end.wall - now.wall);
}
