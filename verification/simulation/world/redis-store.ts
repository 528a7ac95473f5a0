import { Redis } from 'ioredis';

import { RedisBackend } from '../../../src/backends/redis/redis-backend.js';
import type {
  RedisConnection,
  SubscriptionEvents,
} from '../../../src/backends/redis/connection.js';
import { startServer } from '../../../test/support/redis-server.js';
import type { ServerClock } from './clocks.js';
import type { OpenStore, Store } from './server.js';

/** The server forgets its scripts after this many calls. */
const FLUSH_EVERY = 97;

/** The real Lua on a redis-server, with the simulated server's time in place of TIME. */
export async function startRealScripts(): Promise<{ open: OpenStore; stop: () => Promise<void> }> {
  const server = await startServer();
  const commands = new Redis(server.url);
  const subscriber = new Redis(server.url, { enableReadyCheck: false });
  const channels = new Map<string, SubscriptionEvents>();
  subscriber.on('message', (channel, message) => channels.get(channel)?.onMessage(message));
  let calls = 0;
  const connectionOf = (clock: ServerClock): RedisConnection => ({
    runBySha: (sha1, keys, args) => {
      calls += 1;
      if (calls % FLUSH_EVERY === 0) void commands.script('FLUSH');
      return commands.evalsha(sha1, keys.length, ...keys, ...args);
    },
    runByText: (text, keys, args) => commands.eval(text, keys.length, ...keys, ...args),
    subscribe: (channel, events) => {
      channels.set(channel, events);
      void subscriber.subscribe(channel);
      return { close: () => Promise.resolve() };
    },
    serverClock: () => clock.monotonic(),
  });
  const open = (clock: ServerClock): Store => {
    // Commands run in the order of their sending.
    void commands.flushall();
    const settled = async (): Promise<void> => {
      await commands.ping();
      // Earlier messages and subscriptions are in by then.
      await subscriber.ping();
    };
    return Object.assign(new RedisBackend(connectionOf(clock)), { settled });
  };
  const stop = async (): Promise<void> => {
    commands.disconnect();
    subscriber.disconnect();
    await server.stop();
  };
  return { open, stop };
}
