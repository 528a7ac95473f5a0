import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { eventually } from './eventually.js';
import { moment } from './moment.js';

setFlagsFromString('--expose-gc');
/** A whole collection, now. */
export const collectGarbage = runInNewContext('gc') as () => void;

/** Collects garbage until `done` says so. */
export async function collectUntil(done: () => boolean): Promise<void> {
  await eventually(async () => {
    await collectOften(1);
    return done();
  });
}

/** Collects so often that an object without a reference is gone, as a rule. */
export async function collectOften(times = 5): Promise<void> {
  for (let i = 0; i < times; i += 1) {
    // A WeakRef keeps its target until the end of the turn in which it was made or read.
    await moment(10);
    collectGarbage();
    await moment(0);
  }
}
