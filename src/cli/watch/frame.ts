import type { Size } from '../columns.js';
import { helpRows } from '../help.js';
import { showDuration } from '../amounts.js';
import type { Line, Style } from '../style.js';
import { atBothEnds, fitLine, lineOf, restyled, whatFits, widthOf } from '../style.js';
import { detailLines } from './detail.js';
import { overviewLines } from './overview.js';
import { orderName, type View } from './view.js';

const TITLE = 'redsem watch';

/** From this age on the screen shows the age of the numbers, in milliseconds. */
const AGE_SHOWN = 2000;

const KEY_WIDTH = 11;

/** The lines of the screen, none wider than the screen, and no more than it has. */
export function frame(view: View, size: Size): Line[] {
  const foot = footLines(view, size.columns);
  const room = Math.max(0, size.rows - foot.length - 1);
  const body = bodyLines(view, { ...size, rows: room }).slice(0, room);
  const gap = Array.from({ length: room - body.length }, (): Line => []);
  return [headerLine(view, size.columns), ...body, ...gap, ...foot]
    .slice(-size.rows)
    .map((line) => fitLine(line, size.columns));
}

function bodyLines(view: View, size: Size): Line[] {
  if (view.help) return keyLines(size.rows);
  const [first] = view.watched;
  const lines =
    view.name !== undefined && first !== undefined
      ? detailLines(view, first, size)
      : overviewLines(view, size);
  if (stateOf(view)[0] === 'connected') return lines;
  // Old numbers are faint at once.
  return lines.map((line) =>
    line.some(({ style }) => style === 'chosen') ? line : restyled(line, 'faint'),
  );
}

function footLines(view: View, columns: number): Line[] {
  const { trouble, filter, message } = view;
  return [
    ...(trouble === undefined ? [] : [lineOf(trouble, 'alarm')]),
    ...(filter === '' ? [] : [lineOf(`filter: ${filter}`)]),
    ...(message === undefined ? [] : [lineOf(message, 'strong')]),
    lineOf(keyLine(view, columns), 'faint'),
  ];
}

/** The most needed keys come first. */
function keyLine(view: View, columns: number): string {
  const sort = `s sort (${orderName(view)})`;
  const keys =
    view.name === undefined
      ? ['q quit', '? help', 'enter open', '/ filter', 'l limit', 'p pause', sort, '↑↓ move']
      : ['q quit', '? help', 'esc back', 'r revoke', '/ filter', 'l limit', 'p pause', sort];
  return whatFits(keys, '  ', columns);
}

/** The state of the connection and its style. */
function stateOf({ connected, failed, seenAt }: View): [state: string, style?: Style] {
  if (!connected) return ['not connected', 'alarm'];
  if (failed) return ['no answer', 'alarm'];
  return seenAt === undefined ? ['connecting'] : ['connected', 'good'];
}

/** The server and the age of the numbers; without room, the least important goes first. */
function headerLine(view: View, columns: number): Line {
  const { server, interval, seenAt = view.now, now } = view;
  const [state, style] = stateOf(view);
  const age = now - seenAt;
  const status = `${state}${age >= AGE_SHOWN ? `, ${showDuration(age)} old` : ''}`;
  const every = `every ${showDuration(interval)}`;
  const clock = new Date(seenAt).toTimeString().slice(0, 8);
  for (const details of [[server, every, clock], [server, clock], [server], [clock]]) {
    const before = details.map((detail) => `${detail} · `).join('');
    const room = columns - widthOf(before) - widthOf(status);
    if (room < 0) continue;
    const title = room < TITLE.length + 2 ? [] : lineOf(TITLE, 'strong');
    return atBothEnds(title, [{ text: before }, { text: status, style }], columns);
  }
  return lineOf(status, style);
}

/** The keys and their effects. */
function keyLines(rows: number): Line[] {
  const lines = helpRows('Keys', 'watch').map(([key, effect]): Line => {
    return [{ text: key.padEnd(KEY_WIDTH), style: 'strong' }, { text: effect }];
  });
  const title = [lineOf('Keys; any of them closes this', 'head'), []];
  return rows < lines.length + title.length ? lines : [...title, ...lines];
}
