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

/** One row for each peer that was measured in a scenario, without columns that none of them has. */
export function scenarioTable(
  results: Results,
  scenario: string,
  peers: readonly Pick<Peer, 'id' | 'label'>[],
  columns: readonly Column[],
): Table {
  const measured = columns.filter(({ figure }) =>
    peers.some(({ id }) => results.spread(scenario, id, figure) !== undefined),
  );
  const rows = peers.flatMap((peer) => {
    const spreads = measured.map(({ figure }) => results.spread(scenario, peer.id, figure));
    if (spreads.every((spread) => spread === undefined)) return [];
    return [[peer.label, ...spreads.map(spreadText)]];
  });
  return { title: scenario, head: ['', ...measured.map(({ head }) => head)], rows };
}

/** The median, and where the rounds differ the lowest and highest. */
export function spreadText(spread: Spread | undefined): string {
  if (spread === undefined) return '–';
  const [middle, low, high] = [spread.median, spread.low, spread.high].map(numberText);
  return low === high ? `${middle}` : `${middle} (${low}–${high})`;
}

/** Its columns are aligned, so that a terminal shows it as well as a page does. */
export function markdownTable({ title, head, rows }: Table): string {
  const widths = head.map((_, column) =>
    Math.max(3, ...[head, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string => {
    const cells = row.map((cell, i) =>
      i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0),
    );
    return `| ${cells.join(' | ')} |`;
  };
  const rule = widths.map((width, i) =>
    i === 0 ? `:${'-'.repeat(width - 1)}` : `${'-'.repeat(width - 1)}:`,
  );
  return [`**${title}**`, '', line(head), line(rule), ...rows.map(line)].join('\n');
}
