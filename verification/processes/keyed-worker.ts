import { inspect } from 'node:util';

import type { KeyedHandle } from '../../src/index.js';
import { KeyedMutex } from '../../src/index.js';
import { onMessage, report, workerArguments } from '../../test/support/worker-side.js';
import type { KeyedRound, KeyedRounds, KeyedWorkerArguments } from './keyed-rounds.js';
import { openClient } from '../../test/support/open-client.js';

/** Counts who is inside each key, and gives the most that was ever seen. */
const COUNT = `
local most = 0
for _, key in ipairs(KEYS) do
  most = math.max(most, redis.call('INCRBY', key, ARGV[1]))
end
return most`;

const { kind, url, name, stripes } = workerArguments<KeyedWorkerArguments>();
const client = await openClient(kind, url);
const mutex = new KeyedMutex(client.target, stripes === undefined ? { name } : { name, stripes });
let held: KeyedHandle | null = null;

onMessage('run', (data) => void runRounds(data as KeyedRounds));
onMessage('try', (data) => void tryOnce(data as readonly string[]));
onMessage('release', () => void releaseHeld());
report('ready');

async function runRounds(rounds: KeyedRounds): Promise<void> {
  const done: KeyedRound[] = [];
  try {
    for (let round = 0; round < rounds.count; round += 1) done.push(await runRound(rounds));
    report('result', { done });
  } catch (error) {
    report('result', { done, error: inspect(error) });
  }
}

function runRound({ keys, timeout }: KeyedRounds): Promise<KeyedRound> {
  const started = performance.now();
  return mutex.use(
    keys,
    async (handle) => {
      const waited = performance.now() - started;
      const inside = await count(keys, 1);
      await count(keys, -1);
      handle.assertHeld();
      return { waited, inside };
    },
    timeout,
  );
}

async function count(keys: readonly string[], change: 1 | -1): Promise<number> {
  const counters = keys.map((key) => `count:${name}:${key}`);
  return Number(await client.run(COUNT, counters, [String(change)]));
}

async function tryOnce(keys: readonly string[]): Promise<void> {
  held = await mutex.tryAcquire(keys);
  report('tried', held !== null);
}

async function releaseHeld(): Promise<void> {
  report('released', (await held?.release()) ?? false);
  held = null;
}
