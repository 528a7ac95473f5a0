import type { RedisConnection } from '../connection.js';
import { hasMethods } from './shape.js';

export type CopyOptions = Record<string, boolean | number | (() => null)>;

/**
 * What is used of an `ioredis` Redis or Cluster (5, 6), by shape, so that every version's own type
 * fits.
 */
export interface IoredisClient {
  evalsha(sha1: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  eval(script: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  readonly status?: string;
}

/** What is used of a single `ioredis` client (5, 6) beyond its commands. */
export interface Duplicable {
  duplicate(options?: CopyOptions): Subscriber;
}

export interface Subscriber {
  on(event: string, listener: (...args: string[]) => void): unknown;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  disconnect(): void;
  readonly status?: string;
  readonly stream?: { unref?(): void };
}

export function canSubscribe(client: object): client is Duplicable {
  return hasMethods(client, 'duplicate', 'subscribe');
}

/** Nothing async, and no promise beside the client's own: each call passes here. */
export function scriptsOf(client: IoredisClient): Pick<RedisConnection, 'runBySha' | 'runByText'> {
  return {
    runBySha: (sha1, keys, args) => client.evalsha(sha1, keys.length, ...keys, ...args),
    runByText: (script, keys, args) => client.eval(script, keys.length, ...keys, ...args),
  };
}
