import type { RedisConnection } from '../../src/index.js';
import { connectionTo } from './connection-to.js';

/** What a node may be like. `full`: it has no free slot; `denied`: it says why it cannot work. */
export const conditions = ['up', 'dead', 'hung', 'full', 'denied'] as const;

export type Condition = (typeof conditions)[number];

/** Every way in which so many nodes may be, by some of the conditions. */
export function combinations(nodes: number, of: readonly Condition[]): Condition[][] {
  if (nodes === 0) return [[]];
  return combinations(nodes - 1, of).flatMap((rest) => of.map((condition) => [...rest, condition]));
}

const connections = new WeakMap<object, RedisConnection>();

/** A client with another identity: the same server may stand for several nodes. */
export function anotherDoor(target: object): RedisConnection {
  const connection = connections.get(target) ?? connectionTo(target);
  connections.set(target, connection);
  return {
    runBySha: (...call) => connection.runBySha(...call),
    runByText: (...call) => connection.runByText(...call),
  };
}

/** A node that refuses, and says why. */
export function deniedNode(): RedisConnection {
  const deny = (): Promise<never> =>
    Promise.reject(new Error("NOPERM User app has no permissions to run the 'evalsha' command"));
  return { runBySha: deny, runByText: deny };
}
