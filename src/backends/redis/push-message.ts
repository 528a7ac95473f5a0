import type { EndedTicket, PushedGrant, PushedTurn } from '../backend.js';
import { nameOf } from './keys.js';
import { parseTurn } from './rate-text.js';
import { parseEnded, parseGrants } from './replies.js';

/**
 * Any user with the right to publish can send anything: what is longer is not looked at, in
 * characters. Scripts send less, but for a ticket of ten thousand slots or more that lie apart; its
 * waiter finds it by asking.
 */
const LONGEST_MESSAGE = 2 ** 17;
/** How many lines of a message are read. Scripts send fewer. */
const MOST_LINES = 1000;
/** Of a ticket that was adopted: two ids of a name, a number and permits each. */
const LONGEST_ID = 128;

export interface PushMessage {
  /** The semaphore's. */
  readonly name: string;
  readonly grants: readonly PushedGrant[];
  readonly ended: readonly EndedTicket[];
  readonly turns: readonly PushedTurn[];
}

/**
 * `line;line…|name`, a line being a grant as a reply has it, `id revoked`, `id adopted`, or
 * `id at time`. Of the lines only those are read whose id was made by `client`. Undefined when it
 * is no such message.
 */
export function parsePush(message: string, client: string): PushMessage | undefined {
  if (message.length > LONGEST_MESSAGE) return undefined;
  const end = message.indexOf('|');
  const name = end < 0 ? undefined : nameOf(message.slice(end + 1));
  if (name === undefined) return undefined;
  const lines = ownLines(message, end, `${client}.`);
  const [grants, ended] = [lines.flatMap(parseGrants), lines.flatMap(parseEnded)];
  return { name, grants, ended, turns: lines.flatMap(parseTurn) };
}

function ownLines(message: string, end: number, start: string): string[] {
  const lines: string[] = [];
  for (let at = 0, read = 0; at < end && read < MOST_LINES; read += 1) {
    const next = message.indexOf(';', at);
    const lineEnd = next < 0 || next > end ? end : next;
    if (message.startsWith(start, at)) {
      const line = message.slice(at, lineEnd);
      const space = line.indexOf(' ');
      if (space > 0 && space <= LONGEST_ID) lines.push(line);
    }
    at = lineEnd + 1;
  }
  return lines;
}
