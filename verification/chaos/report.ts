import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Violation } from '../history/events.js';
import { markdownTable } from '../support/markdown-table.js';
import type { RunRecord } from './checker/run-record.js';
import { describePlan } from './nemesis/describe-plan.js';
import type { PlannedFault } from './nemesis/plan.js';

/** How many violations and planned faults are listed one by one. */
const [VIOLATIONS, PLANNED] = [50, 60];

export interface Report {
  /** The command that repeats the run. */
  readonly command: string;
  readonly plan: readonly PlannedFault[];
  readonly run: RunRecord;
  readonly violations: readonly Violation[];
}

/** Writes `report.md`; gives its path. */
export function writeReport(folder: string, { command, plan, run, violations }: Report): string {
  const { limit, ttl, at: start } = run.header;
  const seconds = (at: number): string => ((at - start) / 1000).toFixed(3);
  const rows = violations
    .slice(0, VIOLATIONS)
    .map(({ rule, at, message }) => [seconds(at), rule, message]);
  const more = plan.length - PLANNED;
  const parts = [
    `# Chaos run`,
    `\`${command}\`: limit ${limit}, ttl ${ttl} ms.`,
    `## ${verdictOf(violations)}`,
    ...(rows.length === 0 ? [] : [markdownTable(['seconds', 'rule', 'what'], rows)]),
    markdownTable(['', ''], figuresOf(run)),
    '## Plan',
    `\`\`\`text\n${describePlan(plan.slice(0, PLANNED))}\n\`\`\``,
    ...(more > 0 ? [`And ${more} more: \`${command} --plan\` prints them all.`] : []),
    '',
  ];
  const path = join(folder, 'report.md');
  writeFileSync(path, parts.join('\n\n'));
  return path;
}

export function verdictOf(violations: readonly Violation[]): string {
  const { length } = violations;
  return length === 0 ? 'Every promise was kept' : `Violations: ${length}`;
}

function figuresOf({ header, end, holds, calls, seen, faults, quiet }: RunRecord) {
  const waits = holds.map(({ invoked, granted }) => granted - invoked).toSorted((a, b) => a - b);
  const wait = (share: number) => Math.round(waits[Math.floor(share * (waits.length - 1))] ?? 0);
  const outcomes = (['acquire', 'try', 'extend', 'release'] as const).map((operation) => {
    const own = calls.filter((call) => call.operation === operation);
    const ends = own.map(({ settled }) => settled?.outcome ?? 'cut short');
    return [`calls of ${operation}`, counted(ends)];
  });
  const inUse = allGrantedAfter(quiet ?? Infinity, header.limit, holds);
  return [
    ['length', `${((end - header.at) / 1000).toFixed(1)} s`],
    ['processes', String(new Set(calls.map((call) => call.process)).size)],
    ['permits granted', String(holds.length)],
    ['wait for a permit, p50 / p99 / most', `${[0.5, 0.99, 1].map(wait).join(' / ')} ms`],
    ...outcomes,
    [
      'losses reported to holders',
      counted(holds.flatMap(({ losses: [lost] }) => lost?.reason ?? [])),
    ],
    ['reads of the server', String(seen.length)],
    ['faults', counted(faults.map(({ kind }) => kind))],
    [
      'from the last fault until every permit was granted again',
      `${Math.round(inUse - (quiet ?? 0))} ms of ${header.recovery} allowed`,
    ],
  ];
}

/** When the last of all slots was granted for the first time after that moment. */
function allGrantedAfter(moment: number, limit: number, holds: RunRecord['holds']): number {
  const firsts = Array.from({ length: limit }, (_, slot) =>
    Math.min(
      ...holds.flatMap(({ granted, slots }) =>
        granted > moment && slots.includes(slot) ? granted : [],
      ),
    ),
  );
  return Math.max(...firsts);
}

/** How often there is each, the most frequent first. */
function counted(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const parts = [...counts].toSorted(([, a], [, b]) => b - a);
  return parts.map(([name, count]) => `${count} ${name}`).join(', ') || 'none';
}
