import type { RunRecord } from '../checker/run-record.js';

/** What happened in a run, in numbers: what was counted, and how often. */
export function figuresOf(run: RunRecord): [label: string, value: string][] {
  const waits = run.holds
    .map(({ invoked, granted }) => granted - invoked)
    .toSorted((a, b) => a - b);
  const losses = run.holds.flatMap((hold) => hold.losses.slice(0, 1).map((l) => l.reason));
  const outcomes = (['acquire', 'try', 'extend', 'release'] as const).map(
    (operation): [string, string] => {
      const calls = run.calls.filter((call) => call.operation === operation);
      const ends = calls.map(({ settled }) => settled?.outcome ?? 'cut short');
      return [`calls of ${operation}`, counted(ends)];
    },
  );
  return [
    ['length', `${((run.end - run.header.at) / 1000).toFixed(1)} s`],
    ['processes', String(new Set(run.calls.map((call) => call.process)).size)],
    ['permits granted', String(run.holds.length)],
    ['wait for a permit, p50 / p99 / most', percentiles(waits)],
    ...outcomes,
    ['losses reported to holders', counted(losses)],
    ['looks at the server', String(run.seen.length)],
    ['faults', counted(run.faults.map(({ kind }) => kind))],
    ['from the last fault until every permit was granted again', recovery(run)],
  ];
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

/** How often there is each, the most frequent first. */
function counted(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const parts = [...counts].toSorted(([, a], [, b]) => b - a);
  return parts.map(([name, count]) => `${count} ${name}`).join(', ') || 'none';
}
