import type { Peer } from '../peers/catalog.js';
import { numberText } from './number-text.js';
import type { Results, Spread } from './results.js';

export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface Column {
  readonly head: string;
  readonly figure: string;
}

/** One row for each peer that was measured in a scenario. */
export function scenarioTable(
  results: Results,
  scenario: string,
  peers: readonly Pick<Peer, 'id' | 'label'>[],
  columns: readonly Column[],
): Table {
  const rows = peers.flatMap((peer) => {
    const spreads = columns.map(({ figure }) => results.spread(scenario, peer.id, figure));
    if (spreads.every((spread) => spread === undefined)) return [];
    return [[peer.label, ...spreads.map(spreadText)]];
  });
  return { title: scenario, head: ['', ...columns.map(({ head }) => head)], rows };
}

/** The median, and where the rounds differ the lowest and highest. */
export function spreadText(spread: Spread | undefined): string {
  if (spread === undefined) return '–';
  const [middle, low, high] = [spread.median, spread.low, spread.high].map(numberText);
  return low === high ? `${middle}` : `${middle} (${low}–${high})`;
}

export function terminalTable({ title, head, rows }: Table): string {
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('   ');
  return [title, line(head), ...rows.map(line)].map((text) => `  ${text}`.trimEnd()).join('\n');
}

export function markdownTable({ title, head, rows }: Table): string {
  const rule = markdownRow(head.map((_, i) => (i === 0 ? ':--' : '--:')));
  return [`**${title}**`, '', markdownRow(head), rule, ...rows.map(markdownRow)].join('\n');
}

function markdownRow(row: readonly string[]): string {
  return `| ${row.join(' | ')} |`;
}
