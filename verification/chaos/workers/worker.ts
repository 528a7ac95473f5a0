import { setTimeout as sleep } from 'node:timers/promises';

import { Semaphore } from '../../../src/index.js';
import { Keeper } from '../../../src/keeper/index.js';
import { isKept } from '../../../test/keeper/is-kept.js';
import { RandomNumbers } from '../../../test/support/random-numbers.js';
import { onMessage, report, workerArguments } from '../../../test/support/worker-side.js';
import { Recorder } from '../history/recorder.js';
import { connect } from '../topologies/connect.js';
import { Caller } from './caller.js';
import { HolderWatch } from './holder-watch.js';
import { KEEPER_CLIENT } from './keeper-client.js';
import type { Workload } from './workload.js';

const workload = workerArguments<Workload>();
const { folder, address, name, limit, ttl, seed } = workload;

const connection = await connect(address);
const recorder = new Recorder(folder, workload.process);
const watch = new HolderWatch(recorder);
const keeper = workload.keeper ? new Keeper({ module: KEEPER_CLIENT }) : undefined;
const semaphore = new Semaphore(connection.target, name, { limit, ttl, keeper });
let calls = 0;
const callers = Array.from({ length: workload.callers }, (_, index) => {
  const random = new RandomNumbers(seed * 100 + index);
  return new Caller({ semaphore, recorder, watch, random, ttl, nextCall: () => (calls += 1) });
});

// The keeper's thread takes a while to start on a busy machine.
if (keeper !== undefined) {
  const first = new Semaphore(connection.target, `${name} of ${workload.process}`, {
    limit: 1,
    keeper,
  });
  for (let tries = 0; !(await first.use(isKept).catch(() => false)); tries += 1) {
    if (tries === 600) throw new Error('the keeper does not renew');
    await sleep(50);
  }
  await first.close();
}

onMessage('stop', () => callers.forEach((caller) => caller.stop()));
onMessage('stall', (lasts) => void stall(Number(lasts)));
report('ready');

await Promise.all(callers.map((caller) => caller.run()));
await semaphore.close();
await keeper?.close();
watch.stop();
recorder.close();
await connection.close();
report('stopped');

/**
 * Waits up to a second for a permit to be held, blocks this loop, and reports how many permits were
 * held before and are held after.
 */
async function stall(lasts: number): Promise<void> {
  for (let tries = 0; tries < 100 && watch.held().length === 0; tries += 1) await sleep(10);
  const held = watch.held();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lasts);
  report('stalled', `${held.length} ${held.filter((handle) => handle.held).length}`);
}
