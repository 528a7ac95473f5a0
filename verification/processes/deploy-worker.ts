import { setTimeout as sleep } from 'node:timers/promises';

import { ClosedError, Semaphore } from '../../src/index.js';
import { openClient } from '../../test/support/open-client.js';
import { report, workerArguments } from '../../test/support/worker-side.js';
import type { DeployArguments, LogEvent } from './deploy.test.js';

/** Half of the callers wait at any time. */
const CALLERS = 6;
const HOLD_MS = 10;
const DRAIN_MS = 60_000;

const { kind, url, name, limit, log } = workerArguments<DeployArguments>();
const client = await openClient(kind, url);
const semaphore = new Semaphore(client.target, name, { limit });
let asked = false;
let stopping: Promise<void> | undefined;

/** The server puts the entries of all processes in one order. */
async function note(event: LogEvent, id = ''): Promise<void> {
  const entry = JSON.stringify({ event, process: process.pid, id });
  await client.run("return redis.call('RPUSH', KEYS[1], ARGV[1])", [log], [entry]);
}

async function stop(): Promise<void> {
  const noted = note('stop');
  await semaphore.close({ drain: DRAIN_MS });
  await noted;
  await note('closed');
}

async function work(): Promise<void> {
  for (;;) {
    await semaphore.use(async (handle) => {
      handle.on('lost', ({ reason }) => report('lost', reason));
      await note('begin', handle.id);
      // While it holds a permit, so that there is something to drain.
      if (asked) stopping ??= stop();
      await sleep(HOLD_MS);
      await note('end', handle.id);
    });
  }
}

async function workUntilClosed(): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ClosedError)) throw error;
  }
}

process.once('SIGTERM', () => {
  asked = true;
});
report('ready');
await Promise.all(Array.from({ length: CALLERS }, workUntilClosed));
await stopping;
await client.close();
