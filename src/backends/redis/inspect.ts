import type * as port from '../backend.js';
import { microseconds, onClockAt, timeAllowed, unasked } from '../gcra.js';
import { INSPECT_PAGE } from '../protocol.js';
import type { Standing } from '../request-order.js';
import { bandOf, inOrderOfGrants } from '../request-order.js';
import { parseTicketId } from '../ticket-id.js';
import { script } from './compose-script.js';
import type { RedisConnection } from './connection.js';
import { keysOf } from './keys.js';
import { runScript } from './script-runner.js';
import {
  limitOf,
  list,
  milliseconds,
  slotsOf,
  textOf,
  TIME,
  UnexpectedReplyError,
} from './wire-text.js';

const inspectScript = script('inspect');
const overviewScript = script('overview');

/** A waiting request, and what decides when it is granted. */
interface WaitingRequest extends Standing {
  readonly state: Omit<port.WaiterState, 'position'>;
}

/** Page by page; other calls may come between two pages. */
export async function inspect(
  connection: RedisConnection,
  call: port.InspectCall,
): Promise<port.InspectReply> {
  const holders = new Map<string, port.HolderState>();
  const waiting = new Map<string, WaitingRequest>();
  let limit: KnownLimit = { limit: call.limit, limitFrom: 'options' };
  let rate = unasked(call.rate);
  let [cursor, arrival] = ['0', '0'];
  let timeOf = timesOf('');
  while (cursor !== '' || arrival !== '') {
    const args = [cursor, arrival, String(INSPECT_PAGE)];
    const page = await runScript(connection, inspectScript, keysOf(call.key), args, pageOf);
    for (const holder of page.holders) holders.set(holder.id, holder);
    for (const waiter of page.waiters) waiting.set(waiter.state.id, waiter);
    ({ cursor, arrival, timeOf } = page);
    limit = page.limit ?? limit;
    if (page.rate !== undefined) rate = page.rate ?? undefined;
  }
  const bySlot = [...holders.values()].toSorted((a, b) => (a.slots[0] ?? 0) - (b.slots[0] ?? 0));
  const held = bySlot.reduce((sum, { slots }) => sum + slots.length, 0);
  const ordered = inOrderOfGrants([...waiting.values()], timeOf);
  const waiters = ordered.map(({ state }, position) => ({ ...state, position }));
  const rules = { ...limit, ...(rate !== undefined && { rate }) };
  return { ...rules, held, waiting: waiters.length, holders: bySlot, waiters };
}

/** Of the first semaphores at least one, see `overview.lua`. */
export function overview(
  connection: RedisConnection,
  keys: readonly port.SemaphoreKey[],
): Promise<readonly port.OverviewReply[]> {
  return runScript(connection, overviewScript, keys.flatMap(keysOf), [], readOverview);
}

/** `now|limit|cursor|arrival|holders|waiters|rate|times`, see `inspect.lua`. */
function pageOf(reply: unknown) {
  const parts = textOf(reply).split('|');
  const [time = '', limit = '', cursor = '', arrival = '', ...lists] = parts;
  const [holders = '', waiters = '', rate = '', times = ''] = lists;
  if (parts.length !== 8 || !TIME.test(time)) throw new UnexpectedReplyError('inspect', reply);
  const now = milliseconds(time);
  return {
    limit: knownLimit('inspect', limit),
    cursor,
    arrival,
    holders: list(holders).map((line) => holderOf(line, now)),
    waiters: list(waiters).map((line) => waiterOf(line, now)),
    rate: rateOf(rate, now),
    timeOf: timesOf(times),
  };
}

/** The virtual time of each priority, see `order` in `order.lua`. */
function timesOf(text: string): (priority: number) => number {
  const times = new Map(
    [...text.matchAll(/(\d):(\d+)/g)].map(([, band, time]) => [9 - Number(band), Number(time)]),
  );
  return (priority) => times.get(priority) ?? 0;
}

function readOverview(reply: unknown): port.OverviewReply[] {
  const [time = '', ...parts] = textOf(reply).split('|');
  if (!TIME.test(time) || parts.length === 0) throw new UnexpectedReplyError('overview', reply);
  return parts.map((text) => overviewOf(text, milliseconds(time)));
}

const OVERVIEW = /^(\S*) (\d{1,16}) (\d{1,16}) (\d{1,16}) ((?:\d{1,16}(?:,(?=\d)|$))*)$/;

function overviewOf(text: string, now: number): port.OverviewReply {
  if (text.startsWith('!')) return { error: text.slice(1) };
  const [, limit, held, waiting, place = '', tokens = ''] = OVERVIEW.exec(text) ?? [];
  if (limit === undefined) throw new UnexpectedReplyError('overview', text);
  return {
    ...(knownLimit('overview', limit) ?? { limit: undefined, limitFrom: undefined }),
    held: Number(held),
    waiting: Number(waiting),
    oldestWait: waiting === '0' ? undefined : Math.max(0, now - milliseconds(place)),
    tokens: list(tokens, ',').map(Number),
  };
}

type KnownLimit = Pick<port.InspectReply, 'limit' | 'limitFrom'>;

/** As the server knows it; undefined where it does not. */
function knownLimit(name: string, text: string) {
  const { storedLimit, otherLimit } = limitOf(name, text);
  if (storedLimit !== undefined) return { limit: storedLimit, limitFrom: 'setLimit' } as const;
  return otherLimit === undefined
    ? undefined
    : ({ limit: otherLimit, limitFrom: 'caller' } as const);
}

function holderOf(line: string, now: number): port.HolderState {
  const [id = '', expiry = '', slotText = '', token = '', label = ''] = line.split(' ');
  const slots = slotsOf(slotText);
  if (slots === undefined) throw new UnexpectedReplyError('inspect', line);
  return {
    id,
    slots,
    fencingToken: Number(token),
    expiresIn: milliseconds(expiry) - now,
    // A token is the time of the grant, unless the clock was behind those before.
    heldFor: Math.max(0, now - milliseconds(token)),
    label: decoded(label),
  };
}

/** See `order.lua`. */
const PARKED = -1.6e15;

function waiterOf(line: string, now: number): WaitingRequest {
  const parts = line.split(' ');
  const [id = '', place = '', label = '', priority = '0', weight = '1', score] = parts;
  const group = decoded(parts[7] ?? '');
  const order = { priority: Number(priority), weight: Number(weight), group };
  const permits = parseTicketId(id)?.permits ?? 1;
  const waitingFor = Math.max(0, now - milliseconds(place));
  return {
    state: { id, permits, waitingFor, label: decoded(label), ...order },
    permits,
    order,
    arrival: Number(place),
    tag: score === undefined ? undefined : Number(score) - bandOf(order),
    parked: Number(score) < PARKED,
    living: parts[6] !== '0',
  };
}

/** A text that another program has written is shown as it is: it must not hide the others. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const RATE =
  /^(?:|none|(\d{1,16}) (\d{1,16}) (\d{1,16})(?: (\d{1,16}))?)\/(?:(\d{1,16}) (\d{1,16}))?$/;

/**
 * The rate at `now` in milliseconds. Null: it is stored that there is none. Undefined: nothing is
 * known.
 */
function rateOf(text: string, now: number): port.RateState | null | undefined {
  const match = RATE.exec(text);
  if (match === null) throw new UnexpectedReplyError('inspect', text);
  if (text.startsWith('none')) return null;
  const [, permits, period, burst, until, tat = 0, granted = 0] = match;
  const at = microseconds(now);
  if (permits === undefined || (until !== undefined && Number(until) <= at)) return undefined;
  const rate = { permits: Number(permits), per: Number(period) / 1000, burst: Number(burst) };
  const arrivals = onClockAt(at, { tat: Number(tat), granted: Number(granted) });
  const next = timeAllowed(rate, arrivals, at, 1, 0);
  const from = until === undefined ? 'setRate' : 'caller';
  return { ...rate, from, nextIn: Math.max(0, next - at) / 1000 };
}
