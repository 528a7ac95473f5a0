import { setTimeout as sleep } from 'node:timers/promises';

import { readUsage, usageBetween } from '../measure/server-usage.js';
import type { Stage } from '../measure/stage.js';
import { kept, type Peer, type PeerId, semaphores } from '../peers/catalog.js';
import type { Measured } from '../report/results.js';
import { atMost, eitherClient, ratio } from '../report/verdict.js';
import { casesOf, type Pace, type Question, tablesOf } from './question.js';

const ttl = 3000;
const handles = 5000;

type Scenario = ReturnType<typeof scenarioOf>;

function scenarioOf(permits: number, count: number) {
  const where = count === 1 ? 'one semaphore' : `${count} semaphores`;
  const names = Array.from({ length: count }, (_, i) => `held-${i}`);
  return { title: `${permits} permits of ${where}, ttl ${ttl} ms`, permits, names };
}

const full = [scenarioOf(handles, 1), scenarioOf(handles, 500)];
const quick = [scenarioOf(500, 50)];

const columns = [
  { head: 'calls/s', figure: 'callsPerSecond' },
  { head: 'server CPU %', figure: 'serverCpu' },
  { head: 'client CPU %', figure: 'clientCpu' },
  { head: 'permits lost', figure: 'lost' },
];

/** The peers with more than one permit for a name, which keep it alive while it is held. */
const able = [...semaphores, kept].filter((peer) => peer.extends && peer.maxLimit >= handles);

async function measure(
  stage: Stage,
  peer: Peer,
  { permits: count, names }: Scenario,
  pace: Pace,
): Promise<Measured['values']> {
  const worker = await stage.worker(peer);
  await worker.ask('hold', { names, limit: count / names.length, count, ttl, gapMs: 0 });
  await sleep(pace === 'full' ? 1000 : 100);
  const [before, cpuBefore] = [await readUsage(stage.server), await worker.ask('cpu')];
  await sleep(pace === 'full' ? 2 * ttl : 1000);
  const [after, cpuAfter] = [await readUsage(stage.server), await worker.ask('cpu')];
  const usage = usageBetween(before, after, peer);
  return {
    callsPerSecond: (usage.calls / usage.elapsedMs) * 1000,
    serverCpu: (usage.cpuMs / usage.elapsedMs) * 100,
    clientCpu: ((cpuAfter - cpuBefore) / 1000 / usage.elapsedMs) * 100,
    lost: await worker.ask('letGo'),
  };
}

export const held: Question = {
  name: 'held',
  asks: 'What does it cost to keep permits alive while they are held?',
  notes: [
    `One process holds all permits for ${2 * ttl} ms and does nothing else. CPU is a share of one core.`,
    'Bottleneck is left out: its jobs expire, and it has no way to extend them. Redlock is left out: it holds one permit a name.',
    'redis-semaphore tries once to extend a permit, at 0.8 of its ttl: on a busy machine that may come too late. Its calls/s fall with the permits that it has lost.',
  ],
  rounds: 2,
  cases: (pace) =>
    (pace === 'full' ? full : quick).flatMap((scenario) =>
      casesOf(able, scenario.title, (stage, peer) => measure(stage, peer, scenario, pace)),
    ),
  tables: tablesOf([...semaphores, kept], columns),
  verdicts: (results) =>
    full.flatMap(({ title }) => {
      const calls = (peer: PeerId): number | undefined =>
        results.median(title, peer, 'callsPerSecond');
      const value = ratio(calls('redsem-kept'), calls('redsem-ioredis'));
      return [
        atMost(`${title}: calls/s`, eitherClient(10, calls)),
        atMost(`${title}: calls/s with a keeper, as a multiple of those without`, [
          { label: 'ioredis', value, bound: 1.25 },
        ]),
      ];
    }),
};
