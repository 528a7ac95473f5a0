import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Redis } from 'ioredis';

import type { Connection } from './adapter.js';
import { openIoredis } from './ioredis-client.js';

/**
 * The baseline: a semaphore that a careful developer writes in an afternoon. A sorted set of
 * tickets scored by expiry, the server's TIME, waiting by tries with pauses of 10 ms doubling to
 * 200 ms, and each ticket extended every third of its ttl.
 */
export async function connect(url: string): Promise<Connection> {
  const client = await openIoredis(url);
  const run = runner(client);
  return {
    acquire: async (name, limit, ttl) => {
      const id = randomUUID();
      for (let pause = 10; !(await run(acquireScript, name, id, ttl, limit));) {
        await sleep(pause);
        pause = Math.min(200, pause * 2);
      }
      const extend = (): void => {
        run(extendScript, name, id, ttl).catch(() => undefined);
      };
      const timer = setInterval(extend, ttl / 3);
      return () => {
        clearInterval(timer);
        return run(releaseScript, name, id);
      };
    },
    close: async () => client.disconnect(),
  };
}

type Run = (script: Script, key: string, ...args: (string | number)[]) => Promise<boolean>;

interface Script {
  readonly text: string;
  readonly sha1: string;
}

function runner(client: Redis): Run {
  return async ({ text, sha1 }, key, ...args) => {
    try {
      return (await client.evalsha(sha1, 1, key, ...args)) === 1;
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return (await client.eval(text, 1, key, ...args)) === 1;
    }
  };
}

function script(...lines: string[]): Script {
  const text = lines.join('\n');
  return { text, sha1: createHash('sha1').update(text).digest('hex') };
}

const now = [
  "local time = redis.call('TIME')",
  'local now = time[1] * 1000 + math.floor(time[2] / 1000)',
];

const write = [
  "redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])",
  "if redis.call('PTTL', KEYS[1]) < ARGV[2] * 3 then redis.call('PEXPIRE', KEYS[1], ARGV[2] * 3) end",
  'return 1',
];

/** ARGV: ticket, ttl in ms, limit. */
const acquireScript = script(
  ...now,
  "redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)",
  "if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end",
  ...write,
);

/** ARGV: ticket, ttl in ms. */
const extendScript = script(
  ...now,
  "redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)",
  "if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end",
  ...write,
);

/** ARGV: ticket. */
const releaseScript = script("return redis.call('ZREM', KEYS[1], ARGV[1])");
