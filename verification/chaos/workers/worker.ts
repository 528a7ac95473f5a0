import { setTimeout as sleep } from 'node:timers/promises';

import { Semaphore, systemClock } from '../../../src/index.js';
import { Keeper } from '../../../src/keeper/index.js';
import { isKept } from '../../../test/keeper/is-kept.js';
import { onMessage, report, workerArguments } from '../../../test/support/worker-side.js';
import type { NewEvent, SemaphoreSettings } from '../../history/events.js';
import { machineTime } from '../../history/machine-time.js';
import { Crew } from '../../simulation/workload/crew.js';
import { HandleWatch, type Process } from '../../simulation/workload/handle-watch.js';
import type { Workload } from '../../simulation/workload/workload.js';
import { recorderOf } from '../../history/recorder.js';
import { type Address, connect } from '../topologies/connect.js';
import { KEEPER_CLIENT } from './keeper-client.js';

export interface WorkerArguments {
  /** The name of the process in the history. */
  readonly process: string;
  /** Where the history is written. */
  readonly folder: string;
  readonly address: Address;
  readonly semaphore: SemaphoreSettings;
  readonly seed: number;
  /** Whether a keeper renews the permits. */
  readonly keeper: boolean;
}

/** Milliseconds between two readings of all handles; a certainty that grew by less is the same. */
const READ_EVERY = 20;
/** Milliseconds by which a reading may be late before the process counts as stalled. */
const STALL = 60;

const given = workerArguments<WorkerArguments>();
const { process: name, folder, address, semaphore, seed } = given;

const workload: Workload = {
  semaphores: [semaphore],
  keys: [],
  keyedTtl: semaphore.ttl,
  newcomers: false,
  callers: 4,
  think: 10,
  hold: 25,
  weights: { acquire: 8.5, try: 1.5 },
};
const connection = await connect(address);
const recorder = recorderOf(folder, name);
const history = { record: (_: string, event: NewEvent) => recorder.record(event) };
const watch = new HandleWatch(history, READ_EVERY);
const own: Process = {
  name,
  clock: systemClock,
  scheduler: {
    get now() {
      return machineTime();
    },
  },
  runAt: (time, run) => setTimeout(run, time - machineTime()),
};
let readAt = machineTime();
const reading = setInterval(() => {
  const [from, until] = [readAt + READ_EVERY, machineTime()];
  if (until - from > STALL) recorder.record({ type: 'stall', from, until });
  readAt = until;
  watch.read(own);
}, READ_EVERY);
const keeper = given.keeper ? new Keeper({ module: KEEPER_CLIENT }) : undefined;
const crew = new Crew({
  process: own,
  backend: connection.target,
  keeper,
  workload,
  history,
  watch,
  mailbox: { tickets: [], seen: [] },
  seed,
});

// The thread of the keeper takes a while to start on a busy machine.
if (keeper !== undefined) {
  const first = new Semaphore(connection.target, `first of ${name}`, { limit: 1, keeper });
  for (let tries = 0; !(await first.use(isKept).catch(() => false)); tries += 1) {
    if (tries === 600) throw new Error('the keeper does not renew');
    await sleep(50);
  }
  await first.close();
}

onMessage('stop', () => crew.stop());
onMessage('stall', (lasts) => void stall(Number(lasts)));
report('ready');

await crew.start();
await crew.close();
await keeper?.close();
clearInterval(reading);
recorder.close();
await connection.close();
report('stopped');

/**
 * Waits up to a second for a permit to be held, blocks this loop, and reports how many permits were
 * held before and are held after.
 */
async function stall(lasts: number): Promise<void> {
  for (let tries = 0; tries < 100 && watch.held(own).length === 0; tries += 1) await sleep(10);
  const held = watch.held(own);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lasts);
  report('stalled', `${held.length} ${held.filter((handle) => handle.held).length}`);
}
