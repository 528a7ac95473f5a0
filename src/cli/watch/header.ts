import { showDuration } from '../duration.js';
import type { Line, Style } from '../style.js';
import { atBothEnds, lineOf, spanOf } from '../style.js';
import { widthOf } from '../text-width.js';
import type { View } from './view.js';

const TITLE = 'redsem watch';

/** From this age on the numbers say how old they are, in milliseconds. */
const AGE_SHOWN = 2000;

/** Whether the numbers may be shown as they are now. */
export function isFresh({ freshness: { state } }: View): boolean {
  return state === 'connected';
}

/** Which server, and how old the numbers are: what matters least goes where there is no room. */
export function headerLine(view: View, columns: number): Line {
  const { state, age, clock } = view.freshness;
  const old = age !== undefined && age >= AGE_SHOWN ? `, ${showDuration(age)} old` : '';
  const status = `${state}${old}`;
  const every = `every ${showDuration(view.interval)}`;
  for (const details of [
    [view.server, every, clock],
    [view.server, clock],
    [view.server],
    [clock],
  ]) {
    const before = details.map((detail) => `${detail} · `).join('');
    const room = columns - widthOf(before) - widthOf(status);
    if (room < 0) continue;
    const title = room < TITLE.length + 2 ? [] : lineOf(TITLE, 'strong');
    return atBothEnds(title, [{ text: before }, spanOf(status, styleOf(view))], columns);
  }
  return lineOf(status, styleOf(view));
}

function styleOf({ freshness: { state } }: View): Style | undefined {
  if (state === 'connected') return 'good';
  return state === 'connecting' ? undefined : 'alarm';
}
