import type { RedisConnection } from '../connection.js';

/** Clients are recognized by their methods: the names of their classes differ between versions. */
export function hasMethods<T extends object>(
  target: object,
  ...names: (keyof T & string)[]
): target is T {
  return names.every((name) => typeof Reflect.get(target, name) === 'function');
}

/** Any client has them; whether it is one connection is the caller's to know. */
export interface Waitable {
  wait(count: number, timeout: number): Promise<unknown>;
  on(event: string, listener: () => void): unknown;
}

/**
 * WAIT counts what was written on its own connection, so after a reconnect its answer says nothing
 * of what was written before: such an answer counts as none. `lost`: the events by which the client
 * reports a lost connection. See https://redis.io/docs/latest/commands/wait/.
 */
export function replicationOf(
  client: Waitable,
  lost: readonly string[],
): NonNullable<RedisConnection['replication']> {
  let interruptions = 0;
  let listens = false;
  return () => {
    if (!listens) for (const event of lost) client.on(event, () => (interruptions += 1));
    listens = true;
    const before = interruptions;
    return async (count, timeout) => {
      if (interruptions !== before) return 0;
      const acknowledged = await client.wait(count, timeout);
      return interruptions === before ? Number(acknowledged) : 0;
    };
  };
}
