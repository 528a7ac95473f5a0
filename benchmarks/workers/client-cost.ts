// Counts the objects that a lone pair of acquire and release makes in the process of its caller.
import { createHook } from 'node:async_hooks';
import { createClient } from 'redis';

import { type Backend, MemoryBackend, type RedisTarget, Semaphore } from '../../src/index.js';
import { report, workerArguments } from '../../test/support/worker-side.js';
import { openIoredis } from '../peers/ioredis-client.js';

export interface ClientCostTask {
  readonly kind: keyof typeof kinds;
  readonly url: string;
}

/** The cost of a pair. */
export interface ClientCost {
  readonly promises: number;
  readonly timers: number;
  readonly bytes: number;
}

const PAIRS = 1000;
/**
 * After that number of pairs V8 has optimised the code, and allocates the same for each further
 * pair.
 */
const WARM_UP = { memory: 20_000, redis: 6000 };
const TTL = 600_000;

interface Contestant {
  readonly pair: () => Promise<unknown>;
  readonly close: () => Promise<unknown>;
}

const kinds = {
  'floor-ioredis': async (url: string): Promise<Contestant> => {
    const client = await openIoredis(url);
    const sha1 = String(await client.script('LOAD', 'return 1'));
    const pair = async (): Promise<void> => {
      await client.evalsha(sha1, 1, 'floor');
      await client.evalsha(sha1, 1, 'floor');
    };
    return { pair, close: () => client.quit() };
  },
  'floor-node-redis': async (url: string): Promise<Contestant> => {
    const client = await createClient({ url }).connect();
    const sha1 = await client.scriptLoad('return 1');
    const pair = async (): Promise<void> => {
      await client.evalSha(sha1, { keys: ['floor'] });
      await client.evalSha(sha1, { keys: ['floor'] });
    };
    return { pair, close: () => client.close() };
  },
  'redsem-ioredis': async (url: string) => redsem(await openIoredis(url)),
  'redsem-node-redis': async (url: string) => redsem(await createClient({ url }).connect()),
  'redsem-memory': (): Promise<Contestant> => Promise.resolve(redsem(new MemoryBackend())),
};

function redsem(target: RedisTarget | Backend): Contestant {
  const semaphore = new Semaphore(target, 'cost', { limit: 10, ttl: TTL });
  const pair = async (): Promise<void> => {
    const handle = await semaphore.acquire();
    await handle.release();
  };
  return { pair, close: () => semaphore.close() };
}

async function run({ pair }: Contestant, pairs: number): Promise<void> {
  for (let i = 0; i < pairs; i += 1) await pair();
}

/** The number of async resources that Node.js makes for a pair, by type. */
async function resourcesOf(contestant: Contestant): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const hook = createHook({ init: (_id, type) => counts.set(type, (counts.get(type) ?? 0) + 1) });
  hook.enable();
  await run(contestant, PAIRS);
  hook.disable();
  return counts;
}

/**
 * The young generation is large enough that no garbage is collected meanwhile, see
 * `client-cost-run.ts`.
 */
async function bytesOf(contestant: Contestant): Promise<number> {
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  await run(contestant, PAIRS);
  return process.memoryUsage().heapUsed - before;
}

// The loop awaits each pair, which is an async function: that makes two promises.
const LOOP_PROMISES = 2;

const { kind, url } = workerArguments<ClientCostTask>();
const contestant = await kinds[kind](url);
await run(contestant, kind === 'redsem-memory' ? WARM_UP.memory : WARM_UP.redis);
// What else the process makes meanwhile comes on top, so the lowest is of the pairs alone.
const bytes = Math.min(
  await bytesOf(contestant),
  await bytesOf(contestant),
  await bytesOf(contestant),
);
const counts = await resourcesOf(contestant);
const cost: ClientCost = {
  promises: (counts.get('PROMISE') ?? 0) / PAIRS - LOOP_PROMISES,
  timers: (counts.get('Timeout') ?? 0) / PAIRS,
  bytes: bytes / PAIRS,
};
report('cost', cost);
await contestant.close();
process.exit();
