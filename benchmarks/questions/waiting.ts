import { setTimeout as sleep } from 'node:timers/promises';

import { readUsage, usageBetween } from '../measure/server-usage.js';
import type { Stage } from '../measure/stage.js';
import { type Peer, semaphores } from '../peers/catalog.js';
import type { Measured, Results } from '../report/results.js';
import { atMost, eitherClient, type Verdict } from '../report/verdict.js';
import { machineTime } from '../../verification/history/machine-time.js';
import { casesOf, type Pace, type Question, tablesOf } from './question.js';

const ttl = 30_000;
const full = 2000;
const countOf = (pace: Pace): number => (pace === 'full' ? full : 100);

const idleOf = (count: number): string => `${count} semaphores, a waiter each: calls/s`;
const handOverOf = (count: number): string =>
  `${count} semaphores, a waiter each: all released at once`;

const columns = [
  { head: 'with the subscriber', figure: 'subscribed' },
  { head: 'in the 2 s after a cut', figure: 'cut' },
  { head: 'where subscribing is forbidden', figure: 'forbidden' },
  { head: 'seconds until the last grant', figure: 'seconds' },
];

const redsem = semaphores.filter(({ kind }) => kind === 'redsem');

/**
 * A process holds all permits and sends no command meanwhile; the other process waits. `grants`:
 * the time at which each waiter got its permit.
 */
async function startWaiting(stage: Stage, peer: Peer, pace: Pace) {
  const [holder, waiter] = await stage.pair(peer);
  const names = Array.from({ length: countOf(pace) }, (_, i) => `waiting-${i}`);
  await holder.ask('hold', { names, limit: 1, count: names.length, ttl: 600_000, gapMs: 0 });
  const grants = waiter.ask('await', { names, ttl });
  await Promise.race([sleep(pace === 'full' ? 3000 : 500), grants]);
  return { holder, grants };
}

async function idleCalls(stage: Stage, peer: Peer, pace: Pace): Promise<Measured['values']> {
  const { server } = stage;
  const { holder, grants } = await startWaiting(stage, peer, pace);
  const rate = async (ms: number): Promise<number> => {
    const before = await readUsage(server);
    await sleep(pace === 'full' ? ms : 300);
    const usage = usageBetween(before, await readUsage(server), peer);
    return (usage.calls / usage.elapsedMs) * 1000;
  };
  const cutSubscribers = (): Promise<unknown> => server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
  const subscribed = await rate(6000);
  await cutSubscribers();
  const cut = await rate(2000);
  await server.command('ACL', 'SETUSER', 'default', '-subscribe', '-ssubscribe');
  await cutSubscribers();
  await sleep(pace === 'full' ? 500 : 100);
  const forbidden = await rate(8000);
  await holder.ask('letGo');
  await grants;
  return { subscribed, cut, forbidden };
}

async function handOverTime(stage: Stage, peer: Peer, pace: Pace): Promise<Measured['values']> {
  const { holder, grants } = await startWaiting(stage, peer, pace);
  const started = machineTime();
  await holder.ask('letGo');
  return { seconds: (Math.max(...(await grants)) - started) / 1000 };
}

function verdicts(results: Results): Verdict[] {
  const [idle, handOver] = [idleOf(full), handOverOf(full)];
  const bar = (title: string, figure: string, scenario: string, bound: number): Verdict =>
    atMost(
      `${full} semaphores, a waiter each: ${title}`,
      eitherClient(bound, (peer) => results.median(scenario, peer, figure)),
    );
  return [
    bar('calls/s with the subscriber', 'subscribed', idle, 60),
    bar('calls/s in the 2 s after a cut', 'cut', idle, 200),
    bar('calls/s where subscribing is forbidden', 'forbidden', idle, 500),
    bar('seconds to hand all over', 'seconds', handOver, 0.15),
  ];
}

export const waiting: Question = {
  name: 'waiting',
  asks: 'What does it cost to wait for many semaphores, and how fast are they all handed over?',
  notes: [
    `One process holds the only permit of each of ${full} semaphores and does nothing else; another waits for each, ttl ${ttl} ms, and gives each permit back.`,
    'The cut ends the connection of every subscriber (CLIENT KILL TYPE pubsub). Forbidden: the user may not SUBSCRIBE (ACL), from half a second after another cut.',
    'Only redsem: 2000 callers that poll every 10 ms would be 200,000 calls/s.',
  ],
  rounds: 2,
  cases: (pace) => [
    ...casesOf(redsem, idleOf(countOf(pace)), (stage, peer) => idleCalls(stage, peer, pace)),
    ...casesOf(redsem, handOverOf(countOf(pace)), (stage, peer) => handOverTime(stage, peer, pace)),
  ],
  tables: tablesOf(redsem, columns),
  verdicts,
};
