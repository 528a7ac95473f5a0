import type { LostReason } from '../errors.js';
import type { Clock, Instant } from '../time/clock.js';
import { elapsedSince } from '../time/clock.js';

/** How many leases one keeper holds at most. The memory of those never used costs nothing. */
export const MOST_LEASES = 65_536;

/** Numbers of 64 bits for each lease: its end by both clocks, and its state. */
const [END, END_BY_WALL, STATE, WIDTH] = [0, 1, 2, 3];
/** Behind the leases: when the holders' thread was last seen alive. */
const ALIVE = MOST_LEASES;
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
    this.buffer = buffer ?? new SharedArrayBuffer(8 * (WIDTH * MOST_LEASES + 1));
    this.#numbers = new BigInt64Array(this.buffer);
  }

  /** The holders' thread is alive. */
  beat(): void {
    this.#write(ALIVE, END, this.#clock.monotonic());
  }

  /** Milliseconds for which the holders' thread has stood still. */
  get stillFor(): number {
    return this.#clock.monotonic() - this.#read(ALIVE, END);
  }

  /**
   * `left`: milliseconds for which it is valid from that moment on, which comes first: between two
   * looks at the clocks the process may be stopped.
   */
  setLeft(place: number, from: Instant, left: number): void {
    this.#write(place, END, from.monotonic + left);
    this.#write(place, END_BY_WALL, from.wall + left);
  }

  /** Milliseconds until its end, by the clock that comes there first. */
  left(place: number): number {
    const [monotonic, wall] = [this.#read(place, END), this.#read(place, END_BY_WALL)];
    return -elapsedSince({ monotonic, wall }, this.#clock);
  }

  setState(place: number, state: State): void {
    this.#write(place, STATE, STATES.indexOf(state));
  }

  state(place: number): State | undefined {
    return STATES[this.#read(place, STATE)];
  }

  loss(place: number): LostReason | undefined {
    const state = this.state(place);
    return state === 'missing' || state === 'revoked' ? state : undefined;
  }

  /** In thousandths, rounded down: a lease ends no later than is known. */
  #write(place: number, field: number, value: number): void {
    Atomics.store(this.#numbers, place * WIDTH + field, BigInt(Math.floor(value * 1000)));
  }

  #read(place: number, field: number): number {
    return Number(Atomics.load(this.#numbers, place * WIDTH + field)) / 1000;
  }
}
