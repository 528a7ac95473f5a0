import type { Sample, WorkerSample } from './sample.js';
import type { Trend } from './slope.js';
import { trendOf } from './slope.js';

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly trend: Trend;
  readonly grows: boolean;
}

export interface Leftovers {
  /** Timers that semaphores had set after `close()`. */
  readonly timers: number;
  /** Keys other than `info`, which stays for a day. */
  readonly keys: readonly string[];
  readonly channels: number;
}

/**
 * Growth over the settled part of the run, as a share of the mean, above which a figure counts as
 * growing.
 */
const MOST_GROWTH = 0.05;

/**
 * Below this much in all, growth cannot be distinguished from noise: mebibytes for memory, else a
 * count.
 */
const LEAST_GROWTH = 3;

const MEBIBYTE = 1024 * 1024;

const OF_WORKER = {
  'heap after collection': 'heap',
  resident: 'resident',
  'timers of semaphores': 'timers',
  listeners: 'listeners',
} as const;
const OF_SERVER = {
  'memory in use': 'used',
  resident: 'resident',
  keys: 'keys',
  clients: 'clients',
  channels: 'channels',
} as const;
const IN_BYTES: readonly string[] = ['heap', 'resident', 'used'];

export function figuresOf(samples: readonly Sample[]): Figure[] {
  const workers = samples[0]?.workers.length ?? 0;
  const figure = (name: string, field: string, valueOf: (sample: Sample) => number): Figure => {
    const unit = IN_BYTES.includes(field) ? 'MiB' : '';
    const scale = unit === '' ? 1 : MEBIBYTE;
    const trend = trendOf(samples.map((one) => ({ at: one.at, value: valueOf(one) / scale })));
    const grown = trend.growth * trend.mean;
    return { name, unit, trend, grows: trend.growth > MOST_GROWTH && grown > LEAST_GROWTH };
  };
  const ofWorkers = Array.from({ length: workers }, (_, i) =>
    Object.entries(OF_WORKER).map(([name, field]) =>
      figure(`worker ${i + 1}: ${name}`, field, (sample) => sample.workers[i]?.[field] ?? 0),
    ),
  );
  const ofServer = Object.entries(OF_SERVER).map(([name, field]) =>
    figure(`server: ${name}`, field, ({ server }) => server[field]),
  );
  return [...ofWorkers.flat(), ...ofServer];
}

export function reportOf(
  samples: readonly Sample[],
  figures: readonly Figure[],
  left: Leftovers,
  setting: string,
): string {
  const end = samples.at(-1);
  const sum = (valueOf: (worker: WorkerSample) => number): string =>
    (end?.workers ?? []).reduce((total, worker) => total + valueOf(worker), 0).toLocaleString('en');
  const grants = sum((worker) => worker.grants);
  return [
    '# Soak',
    '',
    `Written by \`npm run soak\`. ${setting}`,
    '',
    `${samples.length} samples in ${Math.round(end?.at ?? 0)} s; ${grants} permits granted,`,
    `${sum((worker) => worker.refusals)} waits that timed out or were aborted. The first 30 % of the samples are left out below,`,
    'because pools and caches fill at first. Slope: least squares. A figure counts as growing when the slope adds up to',
    `more than ${MOST_GROWTH * 100} % of its mean over the rest of the run, and to more than ${LEAST_GROWTH} (MiB or pieces).`,
    '',
    '| figure | first | last | mean | slope a minute | in all | grows |',
    '| --- | ---: | ---: | ---: | ---: | ---: | --- |',
    ...figures.map(rowOf),
    '',
    'After `close()` in every worker:',
    '',
    `- timers of semaphores: ${left.timers}`,
    `- keys in use: ${left.keys.length === 0 ? 'none' : left.keys.join(', ')}`,
    `- channels with a listener: ${left.channels}`,
    '',
  ].join('\n');
}

function rowOf({ name, unit, trend, grows }: Figure): string {
  const show = (value: number): string => `${value.toFixed(unit === '' ? 1 : 2)} ${unit}`.trim();
  const growth = `${(trend.growth * 100).toFixed(1)} %`;
  const figures = [trend.first, trend.last, trend.mean, trend.slope].map(show);
  return `| ${[name, ...figures, growth, grows ? '**yes**' : 'no'].join(' | ')} |`;
}
