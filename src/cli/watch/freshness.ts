import type { Operator } from '../operator.js';
import type { Freshness } from './view.js';
import type { Watcher } from './watcher.js';

/**
 * How much longer than the interval a look may take before its numbers are old, in milliseconds.
 */
const LOOK_TIME = 1000;

/** How far the numbers of the last look can be believed now. */
export function freshnessOf(
  { seenAt, failed }: Pick<Watcher, 'seenAt' | 'failed'>,
  { connected }: Pick<Operator, 'connected'>,
  interval: number,
  now: number,
): Freshness {
  const age = seenAt === undefined ? undefined : now - seenAt;
  const clock = new Date(Date.now() - (age ?? 0)).toTimeString().slice(0, 8);
  return { state: stateOf(), age, clock };

  function stateOf(): Freshness['state'] {
    if (!connected) return 'not connected';
    if (failed || (age ?? 0) > interval + LOOK_TIME) return 'no answer';
    return age === undefined ? 'connecting' : 'connected';
  }
}
