import { Semaphore } from '../../src/index.js';
import { onMessage, report, workerArguments } from '../../test/support/worker-side.js';
import type { HolderArguments } from './holder-process.js';
import { machineTime } from './hold-intervals.js';
import { openClient } from '../../test/support/open-client.js';

/** Acquires as often as it is told to, and never releases unless it is told to. */
const { kind, url, name, limit, ttl } = workerArguments<HolderArguments>();
const client = await openClient(kind, url);
const sem = new Semaphore(client.target, name, { limit, ttl });
const samples: { at: number; held: boolean }[] = [];

async function acquire(timeout?: number): Promise<void> {
  const handle = await sem.acquire(timeout);
  const at = machineTime();
  const { id, slot, fencingToken: token } = handle;
  handle.on('lost', ({ reason }) => {
    report('lost', { id, reason, at: machineTime(), held: handle.held });
  });
  setInterval(() => samples.push({ at: machineTime(), held: handle.held }), 5).unref();
  onMessage('release', () => {
    void handle.release().then(
      (released) => report('released', released),
      (error: unknown) => report('release failed', String(error)),
    );
  });
  report('acquired', { id, slot, token, at });
}

onMessage('acquire', (timeout) => {
  acquire(typeof timeout === 'number' ? timeout : undefined).catch((error: unknown) =>
    report('refused', String(error)),
  );
});
onMessage('samples', () => report('samples', samples));
// Without release, both: at once, and by having nothing left to do.
onMessage('exit', () => process.exit(0));
onMessage('leave', () => {
  process.channel?.unref();
  void client.close();
});
report('ready');
