import type { Wanted } from '../peers/adapter.js';
import type { PeerId } from '../peers/catalog.js';

/**
 * What a run asks of its worker processes, and what they answer. Times are the machine's monotonic
 * clock.
 */
export interface Protocol {
  /** Loads a peer and connects it; comes first. */
  connect: { ask: { peer: PeerId; url: string }; answer: null };
  /** Acquires and releases in a number of loops at once. */
  pairs: { ask: PairsTask; answer: PairsResult };
  /** All callers acquire in one turn, then all release in one turn, so often. */
  rounds: { ask: RoundsTask; answer: null };
  /** Acquires all keys at once, all or none, and releases them, so often. */
  keyRounds: { ask: { keys: readonly string[]; rounds: number }; answer: null };
  /** Takes a permit of each key and gives it back, then takes all and keeps them. */
  eachKey: { ask: EachKeyTask; answer: EachKeyResult };
  /** One holds the only permit and one waits; each release grants, and one more queues. */
  handOffs: { ask: { name: string; count: number }; answer: null };
  /** Starts callers that contend until the process ends. */
  contend: { ask: ContendTask; answer: null };
  /** What they have done so far. */
  records: { ask: null; answer: HoldRecord[] };
  /** How many permits they have got so far. */
  tally: { ask: null; answer: number };
  /** Takes permits and keeps them. */
  hold: { ask: HoldTask; answer: null };
  /** Releases them all; reports how many had been lost. */
  letGo: { ask: null; answer: number };
  /** Waits for one permit of each name; reports when each was granted, in ms. */
  await: { ask: { names: readonly string[]; ttl: number }; answer: number[] };
  /**
   * Lets a crowd wait, and takes many permits at once; reports how long the event loop was blocked.
   */
  crowd: { ask: CrowdTask; answer: CrowdResult };
  /** CPU time of the process so far, in microseconds. */
  cpu: { ask: null; answer: number };
}

export interface PairsTask {
  /** One for each loop, or one for all of them. */
  readonly names: readonly string[];
  readonly limit: number;
  readonly loops: number;
  readonly ms: number;
}

export interface RoundsTask {
  /** One for each caller, or one for all of them. */
  readonly names: readonly string[];
  readonly limit: number;
  readonly callers: number;
  readonly rounds: number;
}

export interface EachKeyTask {
  readonly keys: number;
  readonly limit: number;
  /** How many are asked for at the same time. */
  readonly width: number;
}

/** What is left in the heap is counted after a garbage collection, in bytes a key. */
export interface EachKeyResult {
  readonly usPerPair: number;
  readonly unusedBytes: number;
  readonly heldBytes: number;
}

export interface PairsResult {
  readonly pairs: number;
  readonly elapsedMs: number;
  readonly cpuUs: number;
  readonly p50Us: number;
  readonly p99Us: number;
}

export interface CrowdTask {
  readonly waiters: number;
  /** What they wait for. */
  readonly limit: number;
  /** How many are taken at once, by one ticket of another semaphore. */
  readonly permits: number;
  /** For how long the waiters are watched, in ms. */
  readonly ms: number;
}

/** The longest time for which the event loop was blocked, in ms. */
export interface CrowdResult {
  readonly queueing: number;
  readonly waiting: number;
  /** While each in turn got its permit and gave it back. */
  readonly handingOn: number;
  readonly taking: number;
  readonly givingBack: number;
}

export interface ContendTask {
  readonly name: string;
  readonly limit: number;
  readonly callers: number;
  /** Milliseconds for which a permit is held. */
  readonly hold: number;
  /** Milliseconds between giving a permit back and asking for the next. */
  readonly think: number;
  /** Whether each hold is recorded, or only counted. */
  readonly record: boolean;
  readonly wanted?: Wanted;
}

/** One wait and hold of one caller, in ms; not yet: Infinity does not travel, so 0. */
export interface HoldRecord {
  readonly caller: number;
  readonly asked: number;
  granted: number;
  released: number;
}

export interface HoldTask {
  readonly names: readonly string[];
  readonly limit: number;
  /** How many permits in all, going round the names. */
  readonly count: number;
  readonly ttl: number;
  /** Pause between two of them; 0: as fast as it goes. */
  readonly gapMs: number;
}

export type Topic = keyof Protocol;

export interface Ask<T extends Topic> {
  readonly topic: T;
  readonly data: Protocol[T]['ask'];
}

export interface Answer<T extends Topic> {
  readonly topic: T;
  readonly data?: Protocol[T]['answer'];
  readonly problem?: string;
}
