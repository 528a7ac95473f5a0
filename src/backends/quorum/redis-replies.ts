import { list, milliseconds, TIME, textOf, UnexpectedReplyError } from '../redis/wire-text.js';
import type * as port from './quorum-node.js';
import { LateCallError } from './quorum-node.js';

/** What is read from the line of one semaphore; undefined where that is no line of the script. */
export type ParseLine<Reply> = (line: string, time: number) => Reply | undefined;

export interface Replies<Reply> {
  /** When the node served the call. */
  readonly time: number;
  /** For each semaphore, or why it alone has none. */
  readonly replies: readonly (Reply | Error)[];
}

/** See `quorum-store.lua`. */
export function parseReplies<Reply>(
  script: string,
  reply: unknown,
  parsers: readonly ParseLine<Reply>[],
): Replies<Reply> {
  const [now = '', ...lines] = textOf(reply).split('\n');
  if (!TIME.test(now) || lines.length !== parsers.length) {
    throw new UnexpectedReplyError(script, reply);
  }
  const time = milliseconds(now);
  const replies = parsers.map((parse, i): Reply | Error => {
    const line = lines[i] ?? '';
    if (line === 'late') return new LateCallError(time);
    if (line.startsWith('!')) return new Error(line.slice(1));
    return parse(line, time) ?? new UnexpectedReplyError(script, reply);
  });
  return { time, replies };
}

export function parseHold(requests: number): ParseLine<port.HoldReply> {
  return (line, time) => {
    const [other = '', free = '', verdicts = '', sets] = line.split('|');
    const holdings = verdicts.split(';').map((text) => {
      const [slots = '', token, attempt] = text.split(' ');
      return slots === '' ? undefined : holdingIn(slots, token, attempt);
    });
    if (sets === undefined || holdings.length !== requests) return undefined;
    const otherLimit = other === '' ? undefined : Number(other);
    return { time, free: slotsIn(free), holdings, otherLimit, sets: setsIn(sets) };
  };
}

export function parseDrop(tickets: number): ParseLine<port.DropReply> {
  return (line, time) => {
    if (line.length !== tickets) return undefined;
    return { time, dropped: Array.from(line, (digit) => digit === '1') };
  };
}

/** `cursor`: where the next page starts; '' when done. */
export function parseList(reply: unknown): port.ListReply & { readonly cursor: string } {
  const [now = '', cursor = '', lines] = textOf(reply).split('|');
  if (!TIME.test(now) || lines === undefined) throw new UnexpectedReplyError('quorum-list', reply);
  const tickets = list(lines).map((line): port.NodeTicket => {
    const [id = '', expiry = '', slots = '', token, attempt, granted = '', label = ''] =
      line.split(' ');
    const dates = { expiresAt: milliseconds(expiry), grantedAt: milliseconds(granted) };
    const holding = holdingIn(slots, token, attempt);
    return { id, ...holding, ...dates, label: decodeURIComponent(label) };
  });
  return { time: milliseconds(now), cursor, tickets };
}

function holdingIn(slots: string, token?: string, attempt?: string): port.Holding {
  return { slots: slotsIn(slots), token: Number(token), attempt: Number(attempt) };
}

function slotsIn(text: string): number[] {
  return list(text, ',').map(Number);
}

/** See `quorum-sets.lua`. */
function setsIn(text: string): port.RecordedSet[] {
  const sets = text.matchAll(/\d+ (=?)([^;]+);/g);
  return Array.from(sets, ([, mark, set = '']) => ({ set, proven: mark === '=' }));
}
