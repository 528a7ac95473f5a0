import type { Violation } from '../../history/events.js';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { markdownTable } from '../../support/markdown-table.js';
import type { RunRecord } from '../checker/run-record.js';
import type { Span } from '../checker/span-index.js';
import { describePlan } from '../nemesis/describe-plan.js';
import type { PlannedFault } from '../nemesis/plan.js';
import { figuresOf } from './figures.js';
import { drawTimeline } from './timeline.js';

/** How much of a run a close-up shows, in milliseconds. */
const CLOSE_UP = 15_000;
/** How many violations are listed one by one. */
const LISTED = 50;
/** How many faults of a plan are. */
const PLANNED = 60;

export interface Report {
  /** The command that repeats the run. */
  readonly command: string;
  readonly plan: readonly PlannedFault[];
  readonly run: RunRecord;
  readonly violations: readonly Violation[];
}

/** Writes `report.md` and its pictures; gives the report's path. */
export function writeReport(folder: string, report: Report): string {
  const { run, violations } = report;
  const whole = { from: run.header.at, to: run.end };
  const pictures = [
    { file: 'timeline.svg', title: 'The whole run', span: whole },
    { file: 'close-up.svg', title: 'Close-up', span: closeUp(run, violations) },
  ];
  for (const { file, title, span } of pictures) {
    writeFileSync(join(folder, file), drawTimeline(run, title, span));
  }
  const path = join(folder, 'report.md');
  writeFileSync(path, markdown(report, pictures));
  return path;
}

/** The part of the run around the first violation, else around the first faults. */
function closeUp(run: RunRecord, violations: readonly Violation[]): Span {
  const centre = violations[0]?.at ?? (run.faults[0]?.from ?? run.header.at) + CLOSE_UP / 2.5;
  const from = Math.max(run.header.at, centre - CLOSE_UP / 2);
  return { from, to: Math.min(run.end, from + CLOSE_UP) };
}

function markdown(
  { command, plan, run, violations }: Report,
  pictures: readonly { readonly file: string; readonly title: string }[],
): string {
  const { limit, ttl } = run.header;
  return [
    `# Chaos run`,
    `\`${command}\`: limit ${limit}, ttl ${ttl} ms.`,
    `## ${violations.length === 0 ? 'Every promise was kept' : `Violations: ${violations.length}`}`,
    ...(violations.length === 0 ? [] : [violationTable(run, violations)]),
    markdownTable(['', ''], figuresOf(run)),
    ...pictures.map(({ file, title }) => `![${title}](${file})`),
    [
      'Bands are faults. What is believed in beyond what is held are tickets that a fault took and whose holders could not',
      'know it yet.',
    ].join(' '),
    '## Plan',
    `\`\`\`text\n${describePlan(plan.slice(0, PLANNED))}\n\`\`\``,
    ...(plan.length > PLANNED
      ? [`And ${plan.length - PLANNED} more: \`${command} --plan\` prints them all.`]
      : []),
    '',
  ].join('\n\n');
}

function violationTable(run: RunRecord, violations: readonly Violation[]): string {
  const rows = violations.slice(0, LISTED).map(({ rule, at, message }) => {
    return [((at - run.header.at) / 1000).toFixed(3), rule, message];
  });
  return markdownTable(['seconds', 'rule', 'what'], rows);
}
