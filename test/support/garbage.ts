import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
/** A whole collection, now. */
export const collectGarbage = runInNewContext('gc') as () => void;

/** Collects garbage until `done` says so, or for `timeout` milliseconds; tells whether it did. */
export async function collectUntil(done: () => boolean, timeout = 5000): Promise<boolean> {
  const deadline = performance.now() + timeout;
  for (;;) {
    // A WeakRef keeps its target until the end of the turn in which it was made or read.
    await sleep(10);
    collectGarbage();
    await sleep(0);
    if (done()) return true;
    if (performance.now() > deadline) return false;
  }
}
