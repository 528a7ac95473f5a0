import { inspect } from 'node:util';
import type {
  AcquireReply,
  AcquireVerdict,
  AddPermitsReply,
  AdoptReply,
  EndedTicket,
  ExtendReply,
  PushedGrant,
  ReleaseReply,
  Reply,
  RevokeReply,
  SetLimitReply,
  SetRateReply,
  TicketRequest,
} from '../backend.js';
import { shown } from '../../arguments/shown.js';
import { MOST_PERMITS } from '../protocol.js';
import { parseTicketId } from '../ticket-id.js';

/**
 * What a server sent is not what the script sends: another script, a proxy, or a client that
 * converts replies.
 */
export class UnexpectedReplyError extends Error {
  constructor(script: string, reply: unknown) {
    super(
      `the script ${script} got an unexpected reply: ${shown(inspect(reply), 200)}; its keys are damaged, or something else wrote them`,
    );
    this.name = 'UnexpectedReplyError';
  }
}

/** What a reply says of one semaphore: `body`, or `body/limit/grants/nearest expiry`. */
export interface ReplyPart {
  readonly text: string;
  readonly serverTime: number;
}

/** `time|part|part…`. */
export function partsOf(script: string, reply: unknown): ReplyPart[] {
  const texts = typeof reply === 'string' ? reply.split('|') : [];
  const time = texts.shift() ?? '';
  if (!TIME.test(time) || texts.length === 0) throw new UnexpectedReplyError(script, reply);
  const serverTime = milliseconds(time);
  return texts.map((text) => ({ text, serverTime }));
}

/** `time|number`: the first semaphore that is not plainly free, see `acquire.lua`. */
export function saysBusy([part, ...more]: readonly ReplyPart[]): boolean {
  return part !== undefined && more.length === 0 && /^\d{1,15}$/.test(part.text);
}

export function parseAcquire(part: ReplyPart, requests: readonly TicketRequest[]): AcquireReply {
  const { common, body, nearest } = parsePart('acquire', part);
  const verdicts = parseVerdicts(body);
  if (verdicts.length !== requests.length || !verdicts.every((one, i) => fits(one, requests[i]))) {
    throw new UnexpectedReplyError('acquire', part.text);
  }
  const askAgainAt = nearest === '' ? undefined : milliseconds(nearest);
  // Field by field, here and below: a spread costs several times as much on this path.
  const { serverTime, grants, storedLimit, otherLimit } = common;
  return { serverTime, grants, storedLimit, otherLimit, askAgainAt, verdicts };
}

export function parseExtend(part: ReplyPart, ids: readonly string[]): ExtendReply {
  const { common, body } = parseLetters('extend', part, ids.length);
  const revoked = body.includes('r') ? ids.filter((_id, i) => body[i] === 'r') : undefined;
  return { ...common, extended: isOne(body), revoked };
}

export function parseRelease(part: ReplyPart, ids: readonly string[]): ReleaseReply {
  const { common, body } = parseLetters('release', part, ids.length);
  const { serverTime, grants, storedLimit, otherLimit } = common;
  return { serverTime, grants, storedLimit, otherLimit, released: isOne(body) };
}

export function parseChange(script: string, part: ReplyPart): SetLimitReply & SetRateReply {
  const { common, body } = parsePart(script, part);
  return { ...common, late: body === 'l' };
}

export function parseAddPermits(part: ReplyPart): AddPermitsReply {
  const { common, body } = parsePart('set-limit', part);
  if (body === 'l') return { ...common, limit: undefined, late: true };
  const refused = body.startsWith('x');
  const limit = refused ? body.slice(1) : body;
  if (!/^\d{1,16}$/.test(limit)) throw new UnexpectedReplyError('set-limit', part.text);
  return { ...common, limit: Number(limit), ...(refused && { refused }) };
}

export function parseAdopt(part: ReplyPart): AdoptReply {
  const { common, body } = parsePart('adopt', part);
  if (body === '') return { ...common, ticket: undefined };
  if (body === 'l') return { ...common, ticket: undefined, late: true };
  const [ticket = '', before = ''] = body.split(':');
  return { ...common, ticket: { ...parseTicket('adopt', ticket), before } };
}

export function parseRevoke(part: ReplyPart): RevokeReply {
  const { common, body } = parseLetters('revoke', part, 1);
  return { ...common, revoked: body === '1' };
}

/** Numbers with spaces between. */
export function parseNumbers(reply: unknown): number[] {
  if (typeof reply !== 'string' || !/^\d{1,15}(?: \d{1,15})*$/.test(reply)) {
    throw new UnexpectedReplyError('note-stripes', reply);
  }
  return reply.split(' ').map(Number);
}

/**
 * Grants as they stand in a reply or in a message, which anybody may send: what is none is left
 * out. Slots are read when they are asked for, and no more than the id has permits: a few
 * characters can stand for millions.
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

/**
 * Tickets that were taken from their holder, as they stand in a message: `id revoked` or
 * `id adopted`.
 */
export function parseEnded(text: string): EndedTicket[] {
  return list(text).flatMap((line) => {
    const [id, what, ...rest] = line.split(' ', 3);
    if (id === undefined || what === undefined || rest.length > 0) return [];
    return { id, reason: what === 'revoked' ? 'revoked' : 'missing' };
  });
}

export const TIME: RegExp = /^\d{1,16}$/;
/**
 * What a reply says of the limit: `s` and the stored one, `o` and that of another caller, or
 * nothing.
 */
export const LIMIT: RegExp = /^(?:[so]\d+)?$/;

interface ParsedPart {
  readonly common: Reply;
  readonly body: string;
  readonly nearest: string;
}

const NO_GRANTS: readonly PushedGrant[] = [];

function parsePart(script: string, { text, serverTime }: ReplyPart): ParsedPart {
  // Nothing but the body, mostly.
  if (!text.includes('/')) {
    const common = {
      serverTime,
      grants: NO_GRANTS,
      storedLimit: undefined,
      otherLimit: undefined,
    };
    return { common, body: text, nearest: '' };
  }
  const [body = '', limit = '', grants = '', nearest = ''] = text.split('/');
  if (!LIMIT.test(limit)) throw new UnexpectedReplyError(script, text);
  const common = { serverTime, grants: parseGrants(grants), ...parseLimit(limit) };
  return { common, body, nearest };
}

/** A part whose body has a letter for each id. */
function parseLetters(script: string, part: ReplyPart, ids: number): ParsedPart {
  const parsed = parsePart(script, part);
  if (parsed.body.length !== ids) throw new UnexpectedReplyError(script, part.text);
  return parsed;
}

function isOne(letters: string): boolean[] {
  return letters.length === 1 ? [letters === '1'] : Array.from(letters, (letter) => letter === '1');
}

export function parseLimit(text: string): Pick<Reply, 'storedLimit' | 'otherLimit'> {
  const limit = Number(text.slice(1));
  return {
    storedLimit: text.startsWith('s') ? limit : undefined,
    otherLimit: text.startsWith('o') ? limit : undefined,
  };
}

/** A request is refused only for more permits than the limit. */
function fits(verdict: AcquireVerdict, request: TicketRequest | undefined): boolean {
  if (verdict.kind !== 'over') return true;
  return verdict.limit < (parseTicketId(request?.id ?? '')?.permits ?? 1);
}

function parseVerdicts(body: string): AcquireVerdict[] {
  return body.includes(';') || body.startsWith('*') || body === ''
    ? list(body).flatMap(parseVerdictOrRow)
    : [parseVerdict(body)];
}

/** `*n slot token`: n tickets of one permit each, slots and tokens rising. */
function parseVerdictOrRow(text: string): AcquireVerdict | AcquireVerdict[] {
  const [, total, slot, token] = /^\*(\d{1,5}) (\d{1,15}) (\d{1,16})$/.exec(text) ?? [];
  if (total === undefined) return parseVerdict(text);
  return Array.from({ length: Number(total) }, (_, i) => ({
    kind: 'granted',
    slots: [Number(slot) + i],
    fencingToken: Number(token) + i,
  }));
}

function parseVerdict(text: string): AcquireVerdict {
  if (text === 'b') return { kind: 'busy' };
  if (text === 'l') return { kind: 'late' };
  if (/^f\d{1,16}$/.test(text)) return { kind: 'full', waiting: Number(text.slice(1)) };
  if (text.startsWith('q')) return parseQueued(text);
  if (text.startsWith('o')) {
    const limit = Number(text.slice(1));
    if (!Number.isSafeInteger(limit) || limit < 1) throw new UnexpectedReplyError('acquire', text);
    return { kind: 'over', limit };
  }
  const { fencingToken, slots } = parseTicket('acquire', text);
  return { kind: 'granted', fencingToken, slots };
}

/** `q` and the place, and where the request asked for it `,position,waiting,estimate`. */
function parseQueued(text: string): AcquireVerdict {
  const [place = '', position, waiting, estimate] = text.slice(1).split(',');
  const numbers = [place, position ?? '0', waiting ?? '0', estimate ?? '0'].map(Number);
  if (!numbers.every(Number.isSafeInteger)) throw new UnexpectedReplyError('acquire', text);
  const arrival = Number(place);
  if (waiting === undefined) return { kind: 'queued', arrival };
  const progress = {
    position: Number(position),
    waiting: Number(waiting),
    estimate: estimate === '' ? undefined : Number(estimate) / 1000,
  };
  return { kind: 'queued', arrival, progress };
}

/** `slots token`. */
function parseTicket(script: string, text: string) {
  const space = text.indexOf(' ');
  const fencingToken = Number(text.slice(space + 1));
  if (space < 0 || !Number.isSafeInteger(fencingToken)) {
    throw new UnexpectedReplyError(script, text);
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

export function list(text: string, between = ';'): string[] {
  if (text === '') return [];
  return text.includes(between) ? text.split(between) : [text];
}

/** Scripts count in microseconds, for which a double has room to spare. */
export function milliseconds(microseconds: string): number {
  return Number(microseconds) / 1000;
}
