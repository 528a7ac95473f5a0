import { setTimeout as sleep } from 'node:timers/promises';

import type { Passage } from '../../test/conformance/row.js';
import { LATE_MS } from '../support/timed.js';

/** The time of the machine, which does nothing else meanwhile. */
export const realPassage: Passage = {
  late: LATE_MS,
  now: () => performance.now(),
  pass: (duration) => sleep(duration),
  stall: (duration) => {
    for (const end = performance.now() + duration; performance.now() < end;);
  },
  within: (_, promise) => promise,
};
