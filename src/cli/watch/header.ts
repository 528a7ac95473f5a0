import { showDuration } from '../duration.js';
import type { Line, Style } from '../style.js';
import { atBothEnds, lineOf } from '../style.js';
import { widthOf } from '../text-width.js';
import type { View } from './view.js';

const TITLE = 'redsem watch';

/** From this age on the numbers say how old they are, in milliseconds. */
const AGE_SHOWN = 2000;

/** How far the numbers can be believed, and how that looks. */
function stateOf({ connected, failed, seenAt }: View): [state: string, style?: Style] {
  if (!connected) return ['not connected', 'alarm'];
  if (failed) return ['no answer', 'alarm'];
  return seenAt === undefined ? ['connecting'] : ['connected', 'good'];
}

/** Whether the numbers may be shown as they are now. */
export function isFresh(view: View): boolean {
  return stateOf(view)[0] === 'connected';
}

/** Which server, and how old the numbers are: what matters least goes where there is no room. */
export function headerLine(view: View, columns: number): Line {
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
