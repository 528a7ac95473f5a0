import { clientCostOf } from '../measure/client-cost-run.js';
import { peerOf } from '../peers/catalog.js';
import { atMost } from '../report/verdict.js';
import type { ClientCost, ClientCostTask } from '../workers/client-cost.js';
import { type Question, tablesOf } from './question.js';

type Kind = ClientCostTask['kind'];

const scenario = 'what a lone pair of acquire and release makes in its process';
const figures = ['promises', 'timers', 'bytes'] as const;
const columns = figures.map((figure) => ({ head: figure, figure }));

const bars: Partial<Record<Kind, ClientCost>> = {
  'redsem-ioredis': { promises: 14, timers: 0.1, bytes: 16_000 },
  'redsem-node-redis': { promises: 22, timers: 2.1, bytes: 26_000 },
  'redsem-memory': { promises: 10, timers: 0.1, bytes: 9000 },
};
const kinds: readonly Kind[] = [
  'floor-ioredis',
  'floor-node-redis',
  'redsem-ioredis',
  'redsem-node-redis',
  'redsem-memory',
];

export const client: Question = {
  name: 'client',
  asks: 'What does a pair of acquire and release make in the process of its caller?',
  notes: [
    'Counted, so that the figures repeat on any machine: promises and timers by `async_hooks`, bytes by the growth of the heap over 1000 pairs, with a nursery so large that nothing is collected meanwhile.',
    'One caller acquires and releases, one pair after the other. Each row has a separate process. The floor is two bare EVALSHA.',
  ],
  rounds: 2,
  cases: () =>
    kinds.map((kind) => ({
      label: peerOf(kind).label,
      run: async (stage) => {
        const { promises, timers, bytes } = await clientCostOf(kind, stage.server.url);
        return [{ scenario, peer: kind, values: { promises, timers, bytes } }];
      },
    })),
  tables: tablesOf(kinds.map(peerOf), columns),
  verdicts: (results) =>
    figures.map((figure) =>
      atMost(
        `${figure} of a lone pair`,
        kinds.flatMap((kind) => {
          const { [kind]: bar } = bars;
          const value = results.median(scenario, kind, figure);
          return bar === undefined
            ? []
            : [{ label: peerOf(kind).label, value, bound: bar[figure] }];
        }),
      ),
    ),
};
