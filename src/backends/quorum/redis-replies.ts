import type {
  DropReply,
  Holding,
  HoldReply,
  ListReply,
  NodeTicket,
  RecordedSet,
} from './quorum-node.js';
import { LateCallError } from './quorum-node.js';
import { textOf, UnexpectedReplyError } from '../redis/wire-text.js';

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
  if (!/^\d+$/.test(now) || lines.length !== parsers.length) {
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

export function parseHold(requests: number): ParseLine<HoldReply> {
  return (line, time) => {
    const [other = '', free = '', verdicts = '', sets] = line.split('|');
    const holdings = verdicts.split(';').map(parseHolding);
    if (sets === undefined || holdings.length !== requests) return undefined;
    return {
      time,
      free: parseSlots(free),
      holdings,
      otherLimit: other === '' ? undefined : Number(other),
      sets: parseSets(sets),
    };
  };
}

export function parseDrop(tickets: number): ParseLine<DropReply> {
  return (line, time) => {
    if (line.length !== tickets) return undefined;
    return { time, dropped: Array.from(line, (digit) => digit === '1') };
  };
}

export interface ListPage extends ListReply {
  /** Where the next page starts; '' when done. */
  readonly cursor: string;
}

export function parseList(reply: unknown): ListPage {
  const [now = '', cursor = '', lines] = textOf(reply).split('|');
  if (!/^\d+$/.test(now) || lines === undefined) {
    throw new UnexpectedReplyError('quorum-list', reply);
  }
  const tickets = lines === '' ? [] : lines.split(';').map(parseTicket);
  return { time: milliseconds(now), cursor, tickets };
}

function parseHolding(text: string): Holding | undefined {
  const [slots, token, attempt] = text.split(' ');
  if (slots === undefined || token === undefined) return undefined;
  return { slots: parseSlots(slots), token: Number(token), attempt: Number(attempt) };
}

function parseTicket(line: string): NodeTicket {
  const [id = '', expiry, slots = '', token, attempt, granted, label = ''] = line.split(' ');
  return {
    id,
    slots: parseSlots(slots),
    token: Number(token),
    attempt: Number(attempt),
    expiresAt: milliseconds(expiry),
    grantedAt: milliseconds(granted),
    label: decodeURIComponent(label),
  };
}

function parseSlots(text: string): number[] {
  return text === '' ? [] : text.split(',').map(Number);
}

/** See `quorum-sets.lua`. */
function parseSets(text: string): RecordedSet[] {
  return Array.from(text.matchAll(/\d+ (=?)([^;]+);/g), ([, mark, set = '']) => ({
    set,
    proven: mark === '=',
  }));
}

function milliseconds(microseconds: string | undefined): number {
  return Number(microseconds) / 1000;
}
