import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Violation } from '../history/events.js';
import { markdownTable } from '../support/markdown-table.js';
import type { RunRecord } from './checker/run-record.js';

/** How many violations are listed. */
const SHOWN = 50;

/** Writes `report.md`; gives its path. `command` repeats the run. */
export function writeReport(
  folder: string,
  command: string,
  run: RunRecord,
  violations: readonly Violation[],
): string {
  const { limit, ttl, at: start } = run.header;
  const rows = violations
    .slice(0, SHOWN)
    .map(({ rule, at, message }) => [((at - start) / 1000).toFixed(3), rule, message]);
  const parts = [
    `# Chaos run`,
    `\`${command}\`: limit ${limit}, ttl ${ttl} ms; \`--plan\` prints its faults.`,
    `## ${verdictOf(violations)}`,
    ...(rows.length === 0 ? [] : [markdownTable(['seconds', 'rule', 'what'], rows)]),
    markdownTable(['', ''], figuresOf(run)),
    '',
  ];
  const path = join(folder, 'report.md');
  writeFileSync(path, parts.join('\n\n'));
  return path;
}

export function verdictOf({ length }: readonly Violation[]): string {
  return length === 0 ? 'Every promise was kept' : `Violations: ${length}`;
}

function figuresOf({ header, end, holds, calls, seen, faults }: RunRecord) {
  const waits = holds.map(({ invoked, granted }) => granted - invoked).toSorted((a, b) => a - b);
  const wait = (share: number) => Math.round(waits[Math.floor(share * (waits.length - 1))] ?? 0);
  const ends = calls.map(({ operation, settled }) => {
    return `${operation} ${settled?.outcome ?? 'cut short'}`;
  });
  return [
    ['length', `${((end - header.at) / 1000).toFixed(1)} s`],
    ['processes', String(new Set(calls.map((call) => call.process)).size)],
    ['permits granted', String(holds.length)],
    ['wait for a permit, p50 / p99 / most', `${[0.5, 0.99, 1].map(wait).join(' / ')} ms`],
    ['calls', counted(ends)],
    ['losses that holders saw', counted(holds.flatMap(({ lost }) => lost?.reason ?? []))],
    ['reads of the server', String(seen.length)],
    ['faults', counted(faults.map(({ kind }) => kind))],
  ];
}

/** How often there is each, the most frequent first. */
function counted(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const parts = [...counts].toSorted(([, a], [, b]) => b - a);
  return parts.map(([name, count]) => `${count} ${name}`).join(', ') || 'none';
}
