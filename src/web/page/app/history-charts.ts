import type { Detail } from '../../api-types.js';
import { count, duration, rate } from './format.js';
import { LineChart } from './line-chart.js';

/** What happened over the last 15 minutes. */
export class HistoryCharts {
  readonly #charts = [
    new LineChart({
      figure: 'chart-held',
      title: 'Permits',
      format: count,
      leastMax: 1,
      lines: [
        { name: 'held', color: '--held', valueOf: ({ held }) => held, filled: true },
        { name: 'limit', color: '--faint', valueOf: ({ limit }) => limit, dashed: true },
      ],
    }),
    new LineChart({
      figure: 'chart-waiting',
      title: 'Queue',
      format: count,
      leastMax: 1,
      lines: [
        { name: 'waiting', color: '--waiting', valueOf: ({ waiting }) => waiting, filled: true },
      ],
    }),
    new LineChart({
      figure: 'chart-grants',
      title: 'Grants',
      format: rate,
      leastMax: 1,
      lines: [
        {
          name: 'per second',
          color: '--grants',
          valueOf: ({ grantsPerSecond }) => grantsPerSecond,
          filled: true,
        },
      ],
    }),
    new LineChart({
      figure: 'chart-waits',
      title: 'Wait',
      format: duration,
      leastMax: 10,
      lines: [
        { name: 'p50', color: '--held', valueOf: ({ waitP50 }) => waitP50 },
        { name: 'p99', color: '--over', valueOf: ({ waitP99 }) => waitP99, dashed: true },
      ],
    }),
  ];

  show({ history, at }: Detail): void {
    for (const chart of this.#charts) chart.show(history, at);
  }
}
