import { clientCostOf } from '../measure/client-cost-run.js';
import { numberText } from '../report/number-text.js';
import type { Results } from '../report/results.js';
import { spreadText, type Table } from '../report/table.js';
import { atMost, type Verdict } from '../report/verdict.js';
import type { ClientCost, ClientCostTask } from '../workers/client-cost.js';
import type { Question } from './question.js';

type Kind = ClientCostTask['kind'];

interface Row {
  readonly kind: Kind;
  readonly label: string;
  /** Left out: the client alone. */
  readonly bars?: ClientCost;
}

const SCENARIO = 'a lone pair';

const rows: readonly Row[] = [
  { kind: 'floor-ioredis', label: 'two bare EVALSHA, ioredis' },
  { kind: 'floor-node-redis', label: 'two bare EVALSHA, node-redis' },
  {
    kind: 'redsem-ioredis',
    label: 'redsem, ioredis',
    bars: { promises: 14, timers: 0.1, bytes: 16_000 },
  },
  {
    kind: 'redsem-node-redis',
    label: 'redsem, node-redis',
    bars: { promises: 22, timers: 2.1, bytes: 26_000 },
  },
  {
    kind: 'redsem-memory',
    label: 'redsem, in memory',
    bars: { promises: 10, timers: 0.1, bytes: 9000 },
  },
];

const figures = ['promises', 'timers', 'bytes'] as const;

function table(results: Results): Table {
  return {
    title: 'What a lone pair of acquire and release makes in its process',
    head: ['', ...figures],
    rows: rows.map(({ kind, label, bars }) => [
      label,
      ...figures.map((figure) => {
        const bar = bars === undefined ? '' : ` (bar ${numberText(bars[figure])})`;
        return spreadText(results.spread(SCENARIO, kind, figure)) + bar;
      }),
    ]),
  };
}

function verdicts(results: Results): Verdict[] {
  return figures.map((figure) =>
    atMost(
      `${figure} of a lone pair`,
      rows.flatMap(({ kind, label, bars }) =>
        bars === undefined
          ? []
          : [{ label, value: results.median(SCENARIO, kind, figure), bound: bars[figure] }],
      ),
    ),
  );
}

export const client: Question = {
  name: 'client',
  asks: 'What does a pair of acquire and release make in the process of its caller?',
  notes: [
    'Counted, so that the figures repeat on any machine: promises and timers by `async_hooks`, bytes by the growth of the heap over 1000 pairs, with a nursery so large that nothing is collected meanwhile.',
    'One caller acquires and releases, one pair after the other. Each row has a separate process.',
  ],
  rounds: 2,
  cases: () =>
    rows.map(({ kind, label }) => ({
      label,
      run: async (stage) => {
        const { promises, timers, bytes } = await clientCostOf(kind, stage.server.url);
        return [{ scenario: SCENARIO, peer: kind, values: { promises, timers, bytes } }];
      },
    })),
  tables: (results) => [table(results)],
  verdicts,
};
