import type { HolderState, OverviewReply, Reply, WaiterState } from '../backend.js';
import type { Standing } from '../request-order.js';
import { bandOf } from '../request-order.js';
import { parseTicketId } from '../ticket-id.js';
import type { ReplyPart } from './replies.js';
import {
  LIMIT,
  list,
  milliseconds,
  parseLimit,
  parseSlots,
  TIME,
  UnexpectedReplyError,
} from './replies.js';

export interface InspectPage extends Pick<Reply, 'storedLimit' | 'otherLimit'> {
  readonly serverTime: number;
  /** Where the next page starts among the tickets and among the waiting requests; '' when done. */
  readonly cursor: string;
  readonly arrival: string;
  readonly holders: readonly HolderState[];
  readonly waiters: readonly WaitingRequest[];
  /** `rate/tat`, see `parseRate`. */
  readonly rate: string;
  /** The virtual time of a priority. */
  readonly timeOf: (priority: number) => number;
}

export type WaitingRequest = Omit<WaiterState, 'position'> & Standing;

export function parseInspect(reply: unknown): InspectPage {
  const parts = typeof reply === 'string' ? reply.split('|') : [];
  const [time = '', limit = '', cursor = '', arrival = '', ...lists] = parts;
  const [holders = '', waiters = '', rate = '', times = ''] = lists;
  if (parts.length !== 8 || !TIME.test(time) || !LIMIT.test(limit)) {
    throw new UnexpectedReplyError('inspect', reply);
  }
  const now = milliseconds(time);
  return {
    ...parseLimit(limit),
    cursor,
    arrival,
    holders: list(holders).map((line) => parseHolder(line, now)),
    waiters: list(waiters).map((line) => parseWaiter(line, now)),
    rate,
    timeOf: parseTimes(times),
    serverTime: now,
  };
}

/** See `order` in `order.lua`. */
function parseTimes(text: string): (priority: number) => number {
  const times = new Map(
    [...text.matchAll(/(\d):(\d+)/g)].map(([, band, time]) => [9 - Number(band), Number(time)]),
  );
  return (priority) => times.get(priority) ?? 0;
}

/** See `overview.lua`. */
export function parseOverview({ text, serverTime }: ReplyPart): OverviewReply {
  if (text.startsWith('!')) return { error: text.slice(1) };
  const [limit = '', held = '', waiting = '', place = '', tokens, ...rest] = text.split(' ');
  const numbers = [held, waiting, place, ...list(tokens ?? '', ',')];
  const isOdd = tokens === undefined || rest.length > 0 || !LIMIT.test(limit);
  if (isOdd || !numbers.every((number) => TIME.test(number))) {
    throw new UnexpectedReplyError('overview', text);
  }
  const { storedLimit, otherLimit } = parseLimit(limit);
  const caller = otherLimit === undefined ? undefined : 'caller';
  return {
    limit: storedLimit ?? otherLimit,
    limitFrom: storedLimit === undefined ? caller : 'setLimit',
    held: Number(held),
    waiting: Number(waiting),
    oldestWait: waiting === '0' ? undefined : Math.max(0, serverTime - milliseconds(place)),
    tokens: list(tokens, ',').map(Number),
  };
}

function parseHolder(line: string, now: number): HolderState {
  const [id = '', expiry = '', slots = '', token = '', label = ''] = line.split(' ');
  return {
    id,
    slots: parseSlots(slots),
    fencingToken: Number(token),
    expiresIn: milliseconds(expiry) - now,
    // A token is the time of the grant, unless the clock was behind those before.
    heldFor: Math.max(0, now - milliseconds(token)),
    label: decodedLabel(label),
  };
}

function parseWaiter(line: string, now: number): WaitingRequest {
  const parts = line.split(' ');
  const [id = '', place = '', label = '', priority = '0', weight = '1', score] = parts;
  const group = decodedLabel(parts[7] ?? '');
  const order = { priority: Number(priority), weight: Number(weight), group };
  const arrival = Number(place);
  return {
    id,
    permits: parseTicketId(id)?.permits ?? 1,
    waitingFor: Math.max(0, now - milliseconds(place)),
    label: decodedLabel(label),
    priority: order.priority,
    group,
    weight: order.weight,
    order,
    arrival,
    tag: score === undefined ? undefined : Number(score) - bandOf(order),
    parked: Number(score) < PARKED,
    living: parts[6] !== '0',
  };
}

/** See `order.lua`. */
const PARKED = -1.6e15;

/** One that another program has written is shown as it is: it must not hide the others. */
function decodedLabel(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
