import type { EndedTicket, GrantListener, PushedGrant } from '../backend.js';
import { nameOfTag } from './keys.js';
import { grantsOf, milliseconds } from './wire-text.js';

/**
 * Any user with the right to publish can send anything: a longer message is dropped, in characters.
 * Scripts send less, but for a ticket of ten thousand slots or more that lie apart; its waiter
 * finds it by asking.
 */
const LONGEST_MESSAGE = 2 ** 17;
/** How many lines of a message are read. Scripts send fewer. */
const MOST_LINES = 1000;
/** Of a ticket that was adopted: two ids of a name, a number and permits each. */
const LONGEST_ID = 128;

/**
 * `line;line…|name`, a line being a grant as a reply has it, `id revoked`, `id adopted`, or
 * `id at time`. Only lines are read whose id `client` made; other messages are dropped.
 */
export function hearPush(message: string, client: string, listener: GrantListener): void {
  if (message.length > LONGEST_MESSAGE) return;
  const end = message.indexOf('|');
  const name = end < 0 ? undefined : nameOfTag(message.slice(end + 1));
  if (name === undefined) return;
  const grants: PushedGrant[] = [];
  const ended: EndedTicket[] = [];
  for (const line of message.slice(0, end).split(';', MOST_LINES)) {
    if (!line.startsWith(`${client}.`) || line.indexOf(' ') > LONGEST_ID) continue;
    const [, id, what, time] = /^(\S+) (?:(revoked|adopted)|at (\d{1,16}))$/.exec(line) ?? [];
    if (id === undefined) grants.push(...grantsOf(line));
    else if (time !== undefined) listener.onTurn?.({ id, at: milliseconds(time) }, name);
    else ended.push({ id, reason: what === 'revoked' ? 'revoked' : 'missing' });
  }
  if (grants.length > 0) listener.onGrants(grants, name);
  if (ended.length > 0) listener.onEnded?.(ended, name);
}
