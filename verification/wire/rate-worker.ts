import { setTimeout as sleep } from 'node:timers/promises';

import { Semaphore } from '../../src/index.js';
import { openClient } from '../../test/support/open-client.js';
import { report, workerArguments } from '../../test/support/worker-side.js';
import type { RateJob, RatedHold } from './rate.test.js';

const { kind, url, name, limit, rate, tasks, rounds, hold } = workerArguments<RateJob>();
const { target } = await openClient(kind, url);
const semaphore = new Semaphore(target, name, { limit, rate });
const holds: RatedHold[] = [];

async function work(): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    await semaphore.use(async ({ fencingToken, slot }) => {
      await sleep(hold);
      holds.push({ token: fencingToken, slot });
    });
  }
}

await Promise.all(Array.from({ length: tasks }, work));
report('holds', holds);
process.exit();
