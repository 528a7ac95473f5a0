import { markdownTable } from '../../verification/support/markdown-table.js';
import type { Named } from '../peers/catalog.js';
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

/** A row for each peer that was measured in a scenario. A column without any figure is left out. */
export function scenarioTable(
  results: Results,
  scenario: string,
  peers: readonly Named[],
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

/** The median; if the rounds differ, also the lowest and the highest. */
export function spreadText(spread: Spread | undefined): string {
  if (spread === undefined) return '–';
  const [middle, low, high] = spread.map(numberText);
  return low === high ? `${middle}` : `${middle} (${low}–${high})`;
}

export function tableText({ title, head, rows }: Table): string {
  return `**${title}**\n\n${markdownTable(head, rows)}`;
}
