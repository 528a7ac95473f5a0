import type { Totals } from '../support/mocha-output.js';

export interface Row {
  readonly server: string;
  readonly suite: string;
  /** Undefined where the package could not be had. */
  readonly tested: { readonly version: string; readonly totals: Totals } | undefined;
  readonly date: string;
  readonly commit: string;
}

const heading = `# Servers

Written by \`npm run verify:servers\`: conformance, scripts, faults and topologies on servers that Debian has. Each runs with the libraries of its
own release. Skipped are tests that move the clock of a server that libfaketime does not work with.

| server | Debian | version | passed | failed | skipped | date | commit |
| --- | --- | --- | ---: | ---: | ---: | --- | --- |
`;

/** The table with this row in place of an older row of the same server; other rows stay. */
export function withRow(text: string, row: Row): string {
  const key = [row.server, row.suite];
  const others = rowsOf(text).filter((cells) => cells.slice(0, 2).join() !== key.join());
  const rows = [...others, [...key, ...resultOf(row), row.date, row.commit]];
  const lines = rows.map((cells) => `| ${cells.join(' | ')} |`).toSorted();
  return `${heading}${lines.join('\n')}\n`;
}

function resultOf({ tested }: Row): string[] {
  if (tested === undefined) return ['not to be had', '–', '–', '–'];
  const { passed, failed, skipped } = tested.totals;
  return [tested.version, ...[passed, failed, skipped].map((count) => count.toLocaleString('en'))];
}

function rowsOf(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (server |-)/.test(line))
    .map((line) => line.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()));
}
