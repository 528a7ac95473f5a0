import type { Backend, RedisTarget } from '../../../src/index.js';
import type { PlannedFault } from '../nemesis/plan.js';

/**
 * How many worker processes a run has; each has its own way to the servers, for faults to strike.
 */
export const WORKERS = 4;

/** What a worker process needs to connect; plain data. */
export interface Address {
  readonly topology: 'single' | 'cluster' | 'sentinel' | 'quorum';
  readonly client: 'redis' | 'ioredis';
  /** Of the servers, as this worker reaches them. */
  readonly ports: readonly number[];
  /** For ports that servers name to their clients: where this worker has to go instead. */
  readonly detours?: Readonly<Record<number, number>>;
}

/** A connection and what closes it. */
export interface Connection {
  readonly target: RedisTarget | Backend;
  close(): Promise<void>;
}

/** Takes a fault away again. */
export type Undo = () => Promise<void>;

/** Servers that faults can be brought upon. */
export interface Topology {
  /** The parts of the keys of a semaphore that exist. */
  leftKeys(name: string): Promise<string[]>;
  /** How the worker with that index reaches the servers. */
  addressOf(worker: number): Address;
  /** How the observer reaches them: past all that strikes the workers' connections. */
  readonly observerAddress: Address;
  /** What must come before a fault and disturbs nobody by itself. */
  prepare?(fault: PlannedFault): Promise<void>;
  /** What a fault has broken that its end does not repair. */
  repair?(): Promise<void>;
  /** Brings a fault about; resolves when it is there, with what takes it away, if it lasts. */
  inject(fault: PlannedFault, name: string): Promise<Undo | undefined>;
  stop(): Promise<void>;
}
