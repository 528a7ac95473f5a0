import type { Operator } from '../operator.js';
import type { Freshness } from './view.js';
import type { Watcher } from './watcher.js';

/** How far the numbers of the last look can be believed now, by the wall clock. */
export function freshnessOf(
  { seenAt, failed }: Pick<Watcher, 'seenAt' | 'failed'>,
  { connected }: Pick<Operator, 'connected'>,
  now: number,
): Freshness {
  const age = seenAt === undefined ? undefined : now - seenAt;
  const clock = new Date(seenAt ?? now).toTimeString().slice(0, 8);
  return { state: stateOf(), age, clock };

  function stateOf(): Freshness['state'] {
    if (!connected) return 'not connected';
    if (failed) return 'no answer';
    return age === undefined ? 'connecting' : 'connected';
  }
}
