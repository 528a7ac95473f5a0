import { Semaphore } from '../../../src/index.js';
import { RandomNumbers } from '../../../test/support/random-numbers.js';
import { onMessage, report, workerArguments } from '../../../test/support/worker-side.js';
import { Recorder } from '../history/recorder.js';
import { connect } from '../topologies/connect.js';
import { Caller } from './caller.js';
import { HolderWatch } from './holder-watch.js';
import type { Workload } from './workload.js';

const workload = workerArguments<Workload>();
const { folder, address, name, limit, ttl, seed } = workload;

const connection = await connect(address);
const recorder = new Recorder(folder, workload.process);
const watch = new HolderWatch(recorder);
const semaphore = new Semaphore(connection.target, name, { limit, ttl });
let calls = 0;
const callers = Array.from({ length: workload.callers }, (_, index) => {
  const random = new RandomNumbers(seed * 100 + index);
  return new Caller({ semaphore, recorder, watch, random, ttl, nextCall: () => (calls += 1) });
});

onMessage('stop', () => callers.forEach((caller) => caller.stop()));
report('ready');

await Promise.all(callers.map((caller) => caller.run()));
await semaphore.close();
watch.stop();
recorder.close();
await connection.close();
report('stopped');
