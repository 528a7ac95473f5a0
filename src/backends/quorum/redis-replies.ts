import type {
  DropReply,
  Holding,
  KeepReply,
  NodeTicket,
  RecordedSet,
  TakeReply,
} from './quorum-node.js';
import { UnexpectedReplyError } from '../redis/replies.js';

export function parseTake(reply: unknown, requests: number): TakeReply {
  const [head, free, verdicts, sets] = sections('quorum-take', reply, 4);
  const [now, other] = head.split(' ');
  return {
    time: milliseconds(now),
    free: parseSlots(free),
    holdings: parseHoldings('quorum-take', reply, verdicts, requests),
    otherLimit: other === undefined || other === '' ? undefined : Number(other),
    sets: parseSets(sets),
  };
}

export function parseKeep(reply: unknown, requests: number): KeepReply {
  const [now, holdings, sets] = sections('quorum-keep', reply, 3);
  const parsed = parseHoldings('quorum-keep', reply, holdings, requests);
  return { time: milliseconds(now), holdings: parsed, sets: parseSets(sets) };
}

export function parseDrop(reply: unknown, tickets: number): DropReply {
  const [now, digits] = sections('quorum-drop', reply, 2);
  if (digits.length !== tickets) throw new UnexpectedReplyError('quorum-drop', reply);
  return { time: milliseconds(now), dropped: Array.from(digits, (digit) => digit === '1') };
}

export interface ListPage {
  readonly time: number;
  /** Where the next page starts; '' when done. */
  readonly cursor: string;
  readonly tickets: readonly NodeTicket[];
}

export function parseList(reply: unknown): ListPage {
  const [now, cursor, lines] = sections('quorum-list', reply, 3);
  const tickets = lines === '' ? [] : lines.split(';').map(parseTicket);
  return { time: milliseconds(now), cursor, tickets };
}

/** Every reply begins with the time; a script that answers otherwise is not ours. */
function sections(script: string, reply: unknown, count: number): [string, string, string, string] {
  const parts = typeof reply === 'string' ? reply.split('|') : [];
  if (parts.length !== count || !/^\d+(?: \d*)?$/.test(parts[0] ?? '')) {
    throw new UnexpectedReplyError(script, reply);
  }
  const [a = '', b = '', c = '', d = ''] = parts;
  return [a, b, c, d];
}

function parseHoldings(
  script: string,
  reply: unknown,
  text: string,
  count: number,
): (Holding | undefined)[] {
  const holdings = text.split(';').map((verdict) => parseHolding(verdict));
  if (holdings.length !== count) throw new UnexpectedReplyError(script, reply);
  return holdings;
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

function parseSets(text: string): RecordedSet[] {
  if (text === '') return [];
  return text
    .split(';')
    .map((set) => ({ set: set.replace(/^=/, ''), proven: set.startsWith('=') }));
}

function milliseconds(microseconds: string | undefined): number {
  return Number(microseconds) / 1000;
}
