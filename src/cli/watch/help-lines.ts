import type { Column } from '../columns.js';
import { tableLines } from '../columns.js';
import type { Line } from '../style.js';
import { lineOf } from '../style.js';
import type { Size } from './frame.js';

type KeyRow = readonly [key: string, what: string];

const KEYS: readonly KeyRow[] = [
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

const COLUMNS: readonly Column<KeyRow>[] = [
  { head: '', rank: 1, cell: ([key]) => ({ text: key, style: 'strong' }) },
  { head: '', rank: 2, least: 10, cell: ([, what]) => what },
];

/** What the keys do. */
export function helpLines({ columns, rows }: Size): Line[] {
  const [, ...lines] = tableLines(COLUMNS, KEYS, columns);
  const title = [lineOf('Keys; any of them closes this', 'head'), []];
  return rows < lines.length + title.length ? lines : [...title, ...lines];
}
