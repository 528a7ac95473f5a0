import type { Sight } from '../../src/cli/operator.js';

/** What a look at a semaphore may have seen. */
export function sightOf(name: string, limit: number | null, held: number, waiting = 0): Sight {
  const holders = Array.from({ length: held }, (_, i) => ({
    id: `${name}.${i}`,
    slots: [i],
    fencingToken: 1000 + i,
    expiresIn: 1000 * (held - i),
    heldFor: 1000 * i,
    label: `holder ${(i * 7) % held}`,
  }));
  const waiters = Array.from({ length: waiting }, (_, position) => ({
    id: `w.${position}`,
    permits: 1,
    position,
    waitingFor: 10,
    label: `waiter ${position}`,
  }));
  return { name, limit, held, waiting, holders, waiters };
}
