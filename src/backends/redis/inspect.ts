import type * as port from '../backend.js';
import { budgetsShown, unasked } from '../gcra.js';
import { INSPECT_PAGE } from '../protocol.js';
import { type Standing, waitersOf } from '../request-order.js';
import { parseTicketId } from '../ticket-id.js';
import { script } from './compose-script.js';
import type { RedisConnection } from './connection.js';
import { keysOf } from './keys.js';
import { runScript } from './script-runner.js';
import { readState } from './stored-state.js';
import { list, milliseconds, slotsOf, textOf, TIME, UnexpectedReplyError } from './wire-text.js';

const inspectScript = script('inspect');
const overviewScript = script('overview');

/** Page by page; other calls may come between two pages. */
export async function inspect(
  connection: RedisConnection,
  call: port.InspectCall,
): Promise<port.InspectReply> {
  const holders = new Map<string, port.HolderState>();
  const waiting = new Map<string, Standing>();
  let state = readState('', 0);
  let [cursors, now] = [['0', '0'], 0];
  while (cursors.some((cursor) => cursor !== '')) {
    const args = [...cursors, String(INSPECT_PAGE)];
    const page = await runScript(connection, inspectScript, keysOf(call.key), args, pageOf);
    for (const holder of page.holders) holders.set(holder.id, holder);
    for (const waiter of page.waiters) waiting.set(waiter.id, waiter);
    ({ cursors, state, now } = page);
  }
  const bySlot = [...holders.values()].toSorted((a, b) => (a.slots[0] ?? 0) - (b.slots[0] ?? 0));
  const held = bySlot.reduce((sum, { slots }) => sum + slots.length, 0);
  const waiters = waitersOf([...waiting.values()], now, state.timeOf);
  const rate = state.rate === undefined ? unasked(call.rate) : state.rate;
  const limit = state.limit ?? { limit: call.limit, limitFrom: 'options' };
  const groupLimit = state.groupLimit === undefined ? call.groupLimit : state.groupLimit;
  const rules = {
    ...limit,
    ...(rate && { rate }),
    ...budgetsShown(state.budgets, call.budgets),
    ...(typeof groupLimit === 'number' && { groupLimit }),
  };
  return { ...rules, held, waiting: waiters.length, holders: bySlot, waiters };
}

/** Of the first semaphores at least one, see `overview.lua`. */
export function overview(
  connection: RedisConnection,
  keys: readonly port.SemaphoreKey[],
): Promise<readonly port.OverviewReply[]> {
  return runScript(connection, overviewScript, keys.flatMap(keysOf), [], readOverview);
}

/** `now|state|cursor|cursor|holders|waiters`, see `inspect.lua`. */
function pageOf(reply: unknown) {
  const parts = textOf(reply).split('|');
  const [time = '', state = '', ticketCursor = '', requestCursor = '', ...lists] = parts;
  const [holders = '', waiters = ''] = lists;
  if (parts.length !== 6 || !TIME.test(time)) throw new UnexpectedReplyError('inspect', reply);
  const now = milliseconds(time);
  return {
    now,
    state: readState(state, now),
    cursors: [ticketCursor, requestCursor],
    holders: list(holders).map((line) => holderOf(line, now)),
    waiters: list(waiters).map(waiterOf),
  };
}

function readOverview(reply: unknown): port.OverviewReply[] {
  const [time = '', ...parts] = textOf(reply).split('|');
  if (!TIME.test(time) || parts.length === 0) throw new UnexpectedReplyError('overview', reply);
  return parts.map((text) => overviewOf(text, milliseconds(time)));
}

const OVERVIEW = /^(\d{1,16}) (\d{1,16}) (\d{1,16}) ((?:\d{1,16}(?:,(?=\d)|(?= )))*) (.*)$/;

function overviewOf(text: string, now: number): port.OverviewReply {
  if (text.startsWith('!')) return { error: text.slice(1) };
  const [, held, waiting, arrival = '', tokens = '', state] = OVERVIEW.exec(text) ?? [];
  if (state === undefined) throw new UnexpectedReplyError('overview', text);
  return {
    ...(readState(state, now).limit ?? { limit: undefined, limitFrom: undefined }),
    held: Number(held),
    waiting: Number(waiting),
    oldestWait: waiting === '0' ? undefined : Math.max(0, now - milliseconds(arrival)),
    tokens: list(tokens, ',').map(Number),
  };
}

function holderOf(line: string, now: number): port.HolderState {
  const [id = '', expiry = '', slotText = '', token = '', label = '', group = ''] = line.split(' ');
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
    ...(group !== '' && { group: decoded(group) }),
  };
}

/** `id lives tag arrival ttl label priority weight group`. */
function waiterOf(line: string): Standing {
  const [id = '', lives, tag = '', arrival = '', , label = '', ...options] = line.split(' ');
  const [priority = '0', weight = '1', group = ''] = options;
  return {
    id,
    label: decoded(label),
    permits: parseTicketId(id)?.permits ?? 1,
    order: { priority: Number(priority), weight: Number(weight), group: decoded(group) },
    arrival: Number(arrival),
    tag: /^\d+$/.test(tag) ? Number(tag) : undefined,
    parked: tag === 'p',
    living: lives === '1',
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
