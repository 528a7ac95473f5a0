import type { Call, RunRecord } from '../checker/run-record.js';

/** One line of a table: what was counted, and how often. */
export interface Figure {
  readonly label: string;
  readonly value: string;
}

/** What happened in a run, in numbers. */
export function figuresOf(run: RunRecord): Figure[] {
  const waits = run.holds
    .map(({ invoked, granted }) => granted - invoked)
    .toSorted((a, b) => a - b);
  const losses = countBy(run.holds.flatMap((hold) => hold.losses.slice(0, 1).map((l) => l.reason)));
  return [
    { label: 'length', value: `${seconds(run.end - run.header.at)} s` },
    { label: 'processes', value: String(new Set(run.calls.map((call) => call.process)).size) },
    { label: 'permits granted', value: String(run.holds.length) },
    { label: 'wait for a permit, p50 / p99 / most', value: percentiles(waits) },
    ...(['acquire', 'try', 'extend', 'release'] as const).map((operation) => ({
      label: `calls of ${operation}`,
      value: outcomesOf(run.calls.filter((call) => call.operation === operation)),
    })),
    { label: 'losses reported to holders', value: describeCounts(losses) },
    { label: 'looks at the server', value: String(run.seen.length) },
    { label: 'faults', value: describeCounts(countBy(run.faults.map(({ kind }) => kind))) },
    { label: 'from the last fault until every permit was granted again', value: recovery(run) },
  ];
}

function outcomesOf(calls: readonly Call[]): string {
  return describeCounts(countBy(calls.map(({ settled }) => settled?.outcome ?? 'cut short')));
}

function percentiles(sorted: readonly number[]): string {
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  return `${[0.5, 0.99, 1].map((share) => Math.round(at(share))).join(' / ')} ms`;
}

function recovery({ quiet, header, holds }: RunRecord): string {
  if (quiet === undefined) return 'no end of the faults in this history';
  const idle = new Set(Array.from({ length: header.limit }, (_, slot) => slot));
  for (const { granted, slots } of holds) {
    if (granted <= quiet) continue;
    for (const slot of slots) idle.delete(slot);
    if (idle.size === 0) return `${Math.round(granted - quiet)} ms of ${header.recovery} allowed`;
  }
  return 'never';
}

function countBy(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function describeCounts(counts: ReadonlyMap<string, number>): string {
  const parts = [...counts].toSorted(([, a], [, b]) => b - a);
  return parts.map(([name, count]) => `${count} ${name}`).join(', ') || 'none';
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}
