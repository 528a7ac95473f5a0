import type { RedisTarget } from '../index.js';
import type { ClientPackage, ServerSettings } from './common-options.js';
import { UnavailableError } from './failure.js';

/** A connected client. */
export interface Server {
  /** What a `Semaphore` is made on. */
  readonly target: RedisTarget;
  /** Whether the client has a connection now, as far as it says. */
  connected(): boolean;
  /** Ends all connections at once; never throws. */
  disconnect(): void;
}

/** What a client is made with. */
export interface Pending {
  readonly settings: ServerSettings;
  /** Whether the client was connected before: from then on it reconnects by itself. */
  readonly ready: () => boolean;
  /** Called with every error, because a failed `connect` does not always name the cause. */
  readonly onError: (error: unknown) => void;
}

/** Makes a client of a package without connecting it. */
export type ClientAdapter = (pending: Pending) => Server & { connect(): Promise<unknown> };

/** Pause before the next attempt to reconnect, in milliseconds. */
export function reconnectDelay(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt, 10), 2000);
}

/** @throws {UnavailableError} where the package has not these functions */
export function assertInterface<T>(
  name: ClientPackage,
  client: unknown,
  functions: readonly (keyof T)[],
): asserts client is T {
  if (functions.every((each) => typeof Reflect.get(Object(client), each) === 'function')) return;
  throw new UnavailableError(`the package ${name} has another interface`);
}
