import { inColumns } from '../columns.js';
import type { Line } from '../style.js';
import { lineOf } from '../style.js';
import type { Size } from './frame.js';

const KEYS: readonly (readonly [string, string])[] = [
  ['↑ ↓, k j', 'move the cursor'],
  ['PgUp PgDn', 'by a page; Home End, g G'],
  ['enter', 'open the semaphore'],
  ['esc', 'clear the filter, go back'],
  ['/', 'rows that contain a text'],
  ['s', 'next order'],
  ['l', 'change the limit'],
  ['p', 'pause, resume'],
  ['r', 'revoke the ticket; asks'],
  ['q, Ctrl-C', 'quit'],
];

/** What the keys do. */
export function helpLines({ columns, rows }: Size): Line[] {
  const table = inColumns(
    [
      {
        head: '',
        rank: 1,
        cell: ([key]: (typeof KEYS)[number]) => ({ text: key, style: 'strong' }),
      },
      { head: '', rank: 2, least: 10, cell: ([, what]) => ({ text: what }) },
    ],
    KEYS,
    columns,
  );
  const title = [lineOf('Keys; any of them closes this', 'head'), []];
  return rows < KEYS.length + title.length ? [...table.rows] : [...title, ...table.rows];
}
