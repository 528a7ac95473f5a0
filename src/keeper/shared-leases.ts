import type { LostReason } from '../errors.js';
import type { Clock, Instant } from '../time/clock.js';
import { elapsedSince } from '../time/clock.js';

/** Most leases of a keeper. Unused memory costs nothing. */
export const MOST_LEASES = 65_536;

/** Numbers of 64 bits for each lease: its end by both clocks, and its state. */
const [END, END_BY_WALL, STATE, WIDTH] = [0, 1, 2, 3];
/** Behind the leases: the last sign of life of the holders' thread. */
const ALIVE = MOST_LEASES;
/**
 * `stopped`: the holders' thread does not want the lease any more. `unseen`: the keeper has never
 * found the ticket. `missing`, `revoked`: the ticket is gone, and why.
 */
const STATES = ['kept', 'stopped', 'unseen', 'missing', 'revoked'] as const;
type State = (typeof STATES)[number];

/**
 * The leases in memory that both threads share. The keeper's thread writes how long each lease is
 * valid, the holders' thread whether it is still wanted. Reads and writes of a number are atomic.
 * If one of two related numbers is older, the lease ends earlier.
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
   * `left`: milliseconds for which the lease is valid from `from` on. The caller reads the clocks
   * first, because the process may be stopped between two reads.
   */
  setLeft(index: number, from: Instant, left: number): void {
    this.#write(index, END, from.monotonic + left);
    this.#write(index, END_BY_WALL, from.wall + left);
  }

  /** Milliseconds until the end of the lease, by the clock that reaches it first. */
  left(index: number): number {
    const [monotonic, wall] = [this.#read(index, END), this.#read(index, END_BY_WALL)];
    return -elapsedSince({ monotonic, wall }, this.#clock);
  }

  setState(index: number, state: State): void {
    this.#write(index, STATE, STATES.indexOf(state));
  }

  state(index: number): State | undefined {
    return STATES[this.#read(index, STATE)];
  }

  loss(index: number): LostReason | undefined {
    const state = this.state(index);
    return state === 'missing' || state === 'revoked' ? state : undefined;
  }

  /** In thousandths, rounded down: a lease ends no later than known. */
  #write(index: number, field: number, value: number): void {
    Atomics.store(this.#numbers, index * WIDTH + field, BigInt(Math.floor(value * 1000)));
  }

  #read(index: number, field: number): number {
    return Number(Atomics.load(this.#numbers, index * WIDTH + field)) / 1000;
  }
}
