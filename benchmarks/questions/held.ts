import { setTimeout as sleep } from 'node:timers/promises';

import { readUsage, usageBetween } from '../measure/server-usage.js';
import type { Stage } from '../measure/stage.js';
import { type Peer, semaphores } from '../peers/catalog.js';
import { barChart } from '../report/chart.js';
import type { Measured } from '../report/results.js';
import { scenarioTable } from '../report/table.js';
import { atMost, eitherClient } from '../report/verdict.js';
import type { Pace, Question } from './question.js';

const ttl = 3000;
const handles = 5000;
const scenarioOf = (count: number): string => `${count} permits of one semaphore, ttl ${ttl} ms`;
const scenario = scenarioOf(handles);

const columns = [
  { head: 'calls/s', figure: 'callsPerSecond' },
  { head: 'server CPU %', figure: 'serverCpu' },
  { head: 'client CPU %', figure: 'clientCpu' },
  { head: 'permits lost', figure: 'lost' },
];

/** Who can: more than one permit a name, kept alive while held. */
const able = semaphores.filter((peer) => peer.extends && peer.maxLimit >= handles);

async function measure(stage: Stage, peer: Peer, pace: Pace): Promise<Measured[]> {
  const count = pace === 'full' ? handles : 500;
  const worker = await stage.worker(peer);
  await worker.ask('hold', { names: ['held'], limit: count, count, ttl, gapMs: 0 });
  await sleep(pace === 'full' ? 1000 : 100);
  const [before, cpuBefore] = [await readUsage(stage.server), await worker.ask('cpu', null)];
  await sleep(pace === 'full' ? 2 * ttl : 1000);
  const [after, cpuAfter] = [await readUsage(stage.server), await worker.ask('cpu', null)];
  const usage = usageBetween(before, after, peer);
  const values = {
    callsPerSecond: (usage.calls / usage.elapsedMs) * 1000,
    serverCpu: (usage.cpuMs / usage.elapsedMs) * 100,
    clientCpu: ((cpuAfter - cpuBefore) / 1000 / usage.elapsedMs) * 100,
    lost: await worker.ask('letGo', null),
  };
  return [{ scenario: scenarioOf(count), peer: peer.id, values }];
}

export const held: Question = {
  name: 'held',
  asks: 'What does it cost to keep permits alive while they are held?',
  notes: [
    `One process holds all permits for ${2 * ttl} ms and does nothing else. CPU is a share of one core.`,
    'Bottleneck is left out: its jobs expire, and it has no way to extend them. Redlock is left out: it holds one permit a name.',
  ],
  rounds: 2,
  cases: (pace) =>
    able.map((peer) => ({ label: peer.label, run: (stage) => measure(stage, peer, pace) })),
  tables: (results) =>
    results.scenarios().map((title) => scenarioTable(results, title, semaphores, columns)),
  verdicts: (results) => [
    atMost(
      `${handles} permits held: calls/s`,
      eitherClient(10, (peer) => results.median(scenario, peer, 'callsPerSecond')),
    ),
  ],
  charts: (results) => [
    barChart({
      file: 'held-calls',
      title: 'Calls per second to keep 5000 permits alive',
      subtitle: `ttl ${ttl} ms; log scale, less is better`,
      results,
      bars: able.map((peer) => ({ peer, scenario })),
      figures: [{ figure: 'callsPerSecond', label: '' }],
      logarithmic: true,
    }),
  ],
};
