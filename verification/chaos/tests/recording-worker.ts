import { Recorder } from '../history/recorder.js';
import { report, workerArguments } from '../../../test/support/worker-side.js';

/** Records until it is killed. */
const { folder, process: name } = workerArguments<{ folder: string; process: string }>();
const recorder = new Recorder(folder, name);

for (let recorded = 1; ; recorded += 1) {
  recorder.record({ type: 'stall', from: 0, until: recorded });
  if (recorded === 1000) report('recorded', recorded);
  if (recorded % 100 === 0) await new Promise(setImmediate);
}
