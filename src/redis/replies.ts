import { inspect } from 'node:util';
import type {
  AcquireReply,
  AcquireVerdict,
  AdoptReply,
  EndedTicket,
  ExtendReply,
  HolderState,
  PushedGrant,
  ReleaseReply,
  Reply,
  RevokeReply,
  SetLimitReply,
  WaiterState,
} from '../backend.js';
import { MOST_PERMITS } from '../backend.js';
import { parseTicketId } from '../ticket-id.js';

/** What a server sent is not what the script sends: another script, a proxy, or a client that converts replies. */
export class UnexpectedReplyError extends Error {
  constructor(script: string, reply: unknown) {
    super(`the script ${script} got an unexpected reply: ${inspect(reply).slice(0, 200)}`);
    this.name = 'UnexpectedReplyError';
  }
}

export function parseAcquire(reply: unknown, requests: number): AcquireReply {
  const [head, nearest, verdicts, grants] = sections('acquire', reply, 4);
  const parsed = verdicts.startsWith('n')
    ? parseRun(verdicts.slice(1), requests, reply)
    : list(verdicts).map((verdict) => parseVerdict(verdict, reply));
  if (parsed.length !== requests) throw new UnexpectedReplyError('acquire', reply);
  const { serverTime, storedLimit, otherLimit } = parseHead(head);
  return {
    serverTime,
    storedLimit,
    otherLimit,
    nearestExpiry: nearest === '' ? undefined : milliseconds(nearest),
    verdicts: parsed,
    grants: parseGrants(grants),
  };
}

export function parseExtend(reply: unknown, ids: readonly string[]): ExtendReply {
  const [head, digits, grants] = verdictSections('extend', reply, ids.length);
  const { serverTime, storedLimit, otherLimit } = parseHead(head);
  const extended = Array.from(digits, (digit) => digit === '1');
  const revoked = digits.includes('r') ? ids.filter((_id, i) => digits[i] === 'r') : undefined;
  return {
    serverTime,
    storedLimit,
    otherLimit,
    extended,
    revoked,
    grants: parseGrants(grants),
  };
}

export function parseRelease(reply: unknown, ids: readonly string[]): ReleaseReply {
  const [head, digits, grants] = verdictSections('release', reply, ids.length);
  const { serverTime, storedLimit, otherLimit } = parseHead(head);
  const released = Array.from(digits, (digit) => digit === '1');
  return { serverTime, storedLimit, otherLimit, released, grants: parseGrants(grants) };
}

export function parseSetLimit(reply: unknown): SetLimitReply {
  const [head, late, grants] = sections('set-limit', reply, 3);
  return { ...parseHead(head), late: late === 'l', grants: parseGrants(grants) };
}

export function parseAdopt(reply: unknown): AdoptReply {
  const [head, ticket, before, grants] = sections('adopt', reply, 4);
  const rest = { ...parseHead(head), grants: parseGrants(grants) };
  if (ticket === '') return { ...rest, ticket: undefined };
  if (ticket === 'l') return { ...rest, ticket: undefined, late: true };
  return { ...rest, ticket: { ...parseTicket('adopt', ticket, reply), before } };
}

export function parseRevoke(reply: unknown): RevokeReply {
  const [head, digit, grants] = verdictSections('revoke', reply, 1);
  return { ...parseHead(head), revoked: digit === '1', grants: parseGrants(grants) };
}

/** Numbers with spaces between. */
export function parseNumbers(reply: unknown): number[] {
  if (typeof reply !== 'string' || !/^\d{1,15}(?: \d{1,15})*$/.test(reply)) {
    throw new UnexpectedReplyError('note-stripes', reply);
  }
  return reply.split(' ').map(Number);
}

export interface InspectPage {
  readonly limit: number;
  /** Where the next page starts among the tickets and among the waiting requests; '' when done. */
  readonly cursor: string;
  readonly arrival: string;
  readonly holders: readonly HolderState[];
  readonly waiters: readonly Omit<WaiterState, 'position'>[];
}

export function parseInspect(reply: unknown): InspectPage {
  const [time, limit, cursor, arrival, holders, waiters] = sections('inspect', reply, 6);
  const now = milliseconds(time);
  return {
    limit: Number(limit),
    cursor,
    arrival,
    holders: list(holders).map((line) => parseHolder(line, now)),
    waiters: list(waiters).map((line) => parseWaiter(line, now)),
  };
}

/**
 * Grants as they stand in a reply or in a message, which anybody may send: what is none is left out. Slots are read when
 * they are asked for, and no more than the id has permits: a few characters can stand for millions.
 */
export function parseGrants(text: string): PushedGrant[] {
  return list(text).flatMap((line) => {
    const [id = '', slotText = '', token = '', expiry = '', ...rest] = line.split(' ', 5);
    const permits = parseTicketId(id)?.permits;
    const fencingToken = Number(token);
    const expiresAt = milliseconds(expiry);
    if (permits === undefined || rest.length > 0 || !SLOTS.test(slotText)) return [];
    if (token === '' || !Number.isSafeInteger(fencingToken)) return [];
    if (expiry === '' || !Number.isFinite(expiresAt)) return [];
    return {
      id,
      fencingToken,
      expiresAt,
      get slots() {
        return slotsOf(slotText, permits) ?? [];
      },
    };
  });
}

/** Tickets that were taken from their holder, as they stand in a message: `id revoked` or `id adopted`. */
export function parseEnded(text: string): EndedTicket[] {
  return list(text).flatMap((line) => {
    const [id, what, ...rest] = line.split(' ', 3);
    if (id === undefined || what === undefined || rest.length > 0) return [];
    return { id, reason: what === 'revoked' ? 'revoked' : 'missing' };
  });
}

type Head = Pick<Reply, 'serverTime' | 'storedLimit' | 'otherLimit'>;
type Texts = readonly [string, string, string, string, string, string];

function sections(script: string, reply: unknown, count: number): Texts {
  const parts = typeof reply === 'string' ? reply.split('|') : [];
  if (parts.length !== count || !/^\d+(?: (?:stored|other) \d+)?$/.test(parts[0] ?? '')) {
    throw new UnexpectedReplyError(script, reply);
  }
  const [a = '', b = '', c = '', d = '', e = '', f = ''] = parts;
  return [a, b, c, d, e, f];
}

/** Sections whose second has a letter for each id. */
function verdictSections(script: string, reply: unknown, ids: number): Texts {
  const parts = sections(script, reply, 3);
  if (parts[1].length !== ids) throw new UnexpectedReplyError(script, reply);
  return parts;
}

/** `now`, `now stored LIMIT` or `now other LIMIT`. */
function parseHead(head: string): Head {
  const [time = '', whose, limit] = head.split(' ');
  return {
    serverTime: milliseconds(time),
    storedLimit: whose === 'stored' ? Number(limit) : undefined,
    otherLimit: whose === 'other' ? Number(limit) : undefined,
  };
}

function parseVerdict(text: string, reply: unknown): AcquireVerdict {
  if (text === 'b') return { kind: 'busy' };
  if (text === 'l') return { kind: 'late' };
  if (text.startsWith('q') || text.startsWith('o')) {
    const number = Number(text.slice(1));
    const over = text.startsWith('o');
    if (!Number.isSafeInteger(number) || (over && number < 1)) {
      throw new UnexpectedReplyError('acquire', reply);
    }
    return over ? { kind: 'over', limit: number } : { kind: 'queued', arrival: number };
  }
  const { fencingToken, slots } = parseTicket('acquire', text, reply);
  return { kind: 'granted', fencingToken, slots };
}

/** All granted one permit each: the slot and the token of the first, from which the others count on. */
function parseRun(text: string, requests: number, reply: unknown): AcquireVerdict[] {
  const { fencingToken, slots } = parseTicket('acquire', text, reply);
  const first = slots[0] ?? 0;
  if (slots.length !== 1) throw new UnexpectedReplyError('acquire', reply);
  return Array.from({ length: requests }, (_, i) => ({
    kind: 'granted',
    fencingToken: fencingToken + i,
    slots: [first + i],
  }));
}

/** `slots token`. */
function parseTicket(script: string, text: string, reply: unknown) {
  const space = text.indexOf(' ');
  const fencingToken = Number(text.slice(space + 1));
  if (space < 0 || !Number.isSafeInteger(fencingToken)) {
    throw new UnexpectedReplyError(script, reply);
  }
  return { fencingToken, slots: parseSlots(text.slice(0, space)) };
}

/** `0,3,7-9`: single slots and ranges. */
export function parseSlots(text: string): number[] {
  const slots = slotsOf(text);
  if (slots === undefined) throw new UnexpectedReplyError('slots', text);
  return slots;
}

const SLOTS = /^\d{1,15}(?:[,-]\d{1,15})*$/;

function slotsOf(text: string, most = MOST_PERMITS): number[] | undefined {
  if (/^\d{1,15}$/.test(text)) return [Number(text)];
  if (!SLOTS.test(text)) return undefined;
  const slots: number[] = [];
  for (const part of text.split(',')) {
    const [from = 0, to = from] = part.split('-').map(Number);
    if (to < from || slots.length + to - from >= most) return undefined;
    for (let slot = from; slot <= to; slot++) slots.push(slot);
  }
  return slots;
}

function parseHolder(line: string, now: number): HolderState {
  const [id = '', expiry = '', slots = '', token = '', granted = '', label = ''] = line.split(' ');
  return {
    id,
    slots: parseSlots(slots),
    fencingToken: Number(token),
    expiresIn: milliseconds(expiry) - now,
    heldFor: now - milliseconds(granted),
    label: decodedLabel(label),
  };
}

function parseWaiter(line: string, now: number): Omit<WaiterState, 'position'> {
  const [id = '', arrival = '', label = ''] = line.split(' ');
  return {
    id,
    permits: parseTicketId(id)?.permits ?? 1,
    waitingFor: Math.max(0, now - milliseconds(arrival)),
    label: decodedLabel(label),
  };
}

/** One that another program has written is shown as it is: it must not hide the others. */
function decodedLabel(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function list(text: string): string[] {
  if (text === '') return [];
  return text.includes(';') ? text.split(';') : [text];
}

/** Scripts count in microseconds, for which a double has room to spare. */
function milliseconds(microseconds: string): number {
  return Number(microseconds) / 1000;
}
