import type { LostReason } from '../errors.js';
import type { Clock } from '../time/clock.js';
import { elapsedSince } from '../time/clock.js';

/** How many leases one keeper holds at most. The memory of those never used costs nothing. */
export const MOST_LEASES = 65_536;

/**
 * Numbers of 64 bits for each lease: its end by both clocks, and its state. Before them there is
 * one: when the holders' thread was last seen alive.
 */
const WIDTH = 3;
const ENDS_BY_WALL = 1;
const STATE = 2;
/**
 * `stopped`: the holders' thread wants it no more. `unseen`: the keeper has never found its ticket.
 * The last two: its ticket is gone, and why.
 */
const STATES = ['kept', 'stopped', 'unseen', 'missing', 'revoked'] as const;
type State = (typeof STATES)[number];

/**
 * What both threads know of leases, in memory that they share: the keeper's thread writes how long
 * each lease is valid, the holders' thread whether it is still wanted. Each number is read and
 * written at once; of two numbers that belong together the older one makes a lease end earlier.
 */
export class SharedLeases {
  readonly buffer: SharedArrayBuffer;
  readonly #clock: Clock;
  readonly #numbers: BigInt64Array;

  /** @param clock shared by all threads of the process */
  constructor(clock: Clock, buffer?: SharedArrayBuffer) {
    this.#clock = clock;
    this.buffer = buffer ?? new SharedArrayBuffer(8 * (1 + WIDTH * MOST_LEASES));
    this.#numbers = new BigInt64Array(this.buffer);
  }

  /** The holders' thread is alive. */
  beat(): void {
    this.#write(0, this.#clock.monotonic());
  }

  /** Milliseconds for which the holders' thread has stood still. */
  get stillFor(): number {
    return this.#clock.monotonic() - this.#read(0);
  }

  /** `left`: milliseconds for which it is valid. */
  setLeft(place: number, left: number): void {
    this.#write(indexOf(place), this.#clock.monotonic() + left);
    this.#write(indexOf(place) + ENDS_BY_WALL, this.#clock.wall() + left);
  }

  /** Milliseconds until its end, by the clock that comes there first. */
  left(place: number): number {
    const monotonic = this.#read(indexOf(place));
    return -elapsedSince(
      { monotonic, wall: this.#read(indexOf(place) + ENDS_BY_WALL) },
      this.#clock,
    );
  }

  setState(place: number, state: State): void {
    this.#write(indexOf(place) + STATE, STATES.indexOf(state));
  }

  state(place: number): State | undefined {
    return STATES[this.#read(indexOf(place) + STATE)];
  }

  loss(place: number): LostReason | undefined {
    const state = this.state(place);
    return state === 'missing' || state === 'revoked' ? state : undefined;
  }

  /** In thousandths, rounded down: a lease ends no later than is known. */
  #write(index: number, value: number): void {
    Atomics.store(this.#numbers, index, BigInt(Math.floor(value * 1000)));
  }

  #read(index: number): number {
    return Number(Atomics.load(this.#numbers, index)) / 1000;
  }
}

function indexOf(place: number): number {
  return 1 + place * WIDTH;
}
