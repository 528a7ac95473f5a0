import type { RedisConnection } from '../connection.js';
import type { Duplicable, IoredisClient } from './ioredis-client.js';
import { canSubscribe, scriptsOf } from './ioredis-client.js';

/**
 * Its own fields, none of which ioredis has: a real server must never be given a client's clock.
 */
export function isMock(client: object): boolean {
  return 'shaScripts' in client && 'keyData' in client && !('status' in client);
}

/** Its TIME runs backwards, and its Lua has a dialect: see `dialect.lua`. */
export function mockConnection(client: IoredisClient): RedisConnection {
  return {
    ...scriptsOf(client),
    isClosed: () => false,
    serverClock: () => Date.now(),
    ...(canSubscribe(client) && { subscribe: subscriberOf(client) }),
  };
}

/** It has no connection that could be lost, and keeps the listeners of one that is gone. */
function subscriberOf(client: Duplicable): NonNullable<RedisConnection['subscribe']> {
  return (channel, events) => {
    const copy = client.duplicate();
    let isClosed = false;
    copy.on('message', (_channel, message) => {
      if (message !== undefined) events.onMessage(message);
    });
    const onSubscribed = (): void => {
      if (!isClosed) events.onHealth(true);
    };
    void copy.subscribe(channel).then(onSubscribed);
    return {
      close: async () => {
        isClosed = true;
        await copy.unsubscribe(channel);
        copy.disconnect();
      },
    };
  };
}
