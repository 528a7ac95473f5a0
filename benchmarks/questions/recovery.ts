import { setTimeout as sleep } from 'node:timers/promises';

import type { Stage } from '../measure/stage.js';
import { type Peer, semaphores } from '../peers/catalog.js';
import type { Measured } from '../report/results.js';
import { machineTime } from '../../verification/history/machine-time.js';
import { casesOf, type Question, tablesOf } from './question.js';

const fullTtl = 2000;
const scenarioOf = (ttl: number): string => `limit 1, ttl ${ttl} ms`;

const columns = [
  { head: 'shortest, share of ttl', figure: 'shortest' },
  { head: 'mean', figure: 'mean' },
  { head: 'longest', figure: 'longest' },
];

const able = semaphores.filter((peer) => peer.extends);

/**
 * A process takes the only permit of several semaphores, evenly spread over a ttl, so that its
 * death finds leases of all ages. Another process waits for each permit.
 */
async function measure(
  stage: Stage,
  peer: Peer,
  ttl: number,
  count: number,
): Promise<Measured['values']> {
  const names = Array.from({ length: count }, (_, i) => `recovery-${i}`);
  const [holder, waiter] = await stage.pair(peer);
  await holder.ask('hold', { names, limit: 1, count, ttl, gapMs: ttl / count });
  const grants = waiter.ask('await', { names, ttl });
  await sleep(ttl);
  const killed = machineTime();
  await holder.kill();
  const shares = (await grants).map((at) => (at - killed) / ttl);
  if (shares.some((share) => share <= 0))
    throw new Error('a waiter got a permit that was still held');
  return {
    shortest: Math.min(...shares),
    mean: shares.reduce((sum, share) => sum + share, 0) / shares.length,
    longest: Math.max(...shares),
  };
}

export const recovery: Question = {
  name: 'recovery',
  asks: 'How long after the death of a holder does the next one run?',
  notes: [
    'A process that holds the only permits of five semaphores is killed with SIGKILL, at all ages of their leases; another process waits for each. Measured from the kill to the grant, as a share of the ttl.',
    'How long it takes follows from how often a holder extends: redsem and polling every third of the ttl, redis-semaphore at 0.8 of it, redlock 500 ms before its end. The rarer, the shorter the lease that is left at a death, and the fewer failed extensions it survives.',
    'Bottleneck is left out: it cannot extend a job, so that its jobs expire whether or not their process lives.',
  ],
  rounds: 2,
  cases: (pace) => {
    const [ttl, count] = pace === 'full' ? [fullTtl, 5] : [800, 2];
    return casesOf(able, scenarioOf(ttl), (stage, peer) => measure(stage, peer, ttl, count));
  },
  tables: tablesOf(able, columns),
};
