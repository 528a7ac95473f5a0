import type * as port from '../backend.js';
import * as gcra from '../gcra.js';
import { INSPECT_PAGE } from '../protocol.js';
import { type Standing, waitersOf } from '../request-order.js';
import { parseTicketId } from '../ticket-id.js';
import { script } from './compose-script.js';
import type { RedisConnection } from './connection.js';
import { keysOf } from './keys.js';
import { runScript } from './script-runner.js';
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
  let [cursors, state, now] = [['0', '0'], '', 0];
  while (cursors.some((cursor) => cursor !== '')) {
    const args = [...cursors, String(INSPECT_PAGE)];
    const page = await runScript(connection, inspectScript, keysOf(call.key), args, pageOf);
    for (const holder of page.holders) holders.set(holder.id, holder);
    for (const waiter of page.waiters) waiting.set(waiter.id, waiter);
    ({ cursors, state, now } = page);
  }
  const bySlot = [...holders.values()].toSorted((a, b) => (a.slots[0] ?? 0) - (b.slots[0] ?? 0));
  const held = bySlot.reduce((sum, { slots }) => sum + slots.length, 0);
  const timeOf = (priority: number): number => Number(wordIn(state, String(priority)));
  const rules = rulesOf(state, gcra.microseconds(now), call);
  const waiters = waitersOf([...waiting.values()], rules.limit || Infinity, now, timeOf);
  return { ...rules, held, waiting: waiters.length, holders: bySlot, waiters };
}

/** Of the first semaphores at least one, see `overview.lua`. */
export function overview(
  connection: RedisConnection,
  keys: readonly port.SemaphoreKey[],
): Promise<readonly port.OverviewReply[]> {
  return runScript(connection, overviewScript, keys.flatMap(keysOf), [], (reply) => {
    const [time = '', ...parts] = textOf(reply).split('|');
    if (!TIME.test(time) || parts.length === 0) throw new UnexpectedReplyError('overview', reply);
    return parts.map((text) => overviewOf(text, milliseconds(time)));
  });
}

/** `now|state|cursor|cursor|holders|waiters`, see `inspect.lua`. */
function pageOf(reply: unknown) {
  const parts = textOf(reply).split('|');
  const [time = '', state = '', tickets = '', requests = '', holders = '', waiters = ''] = parts;
  if (parts.length !== 6 || !TIME.test(time)) throw new UnexpectedReplyError('inspect', reply);
  const now = milliseconds(time);
  return {
    now,
    state,
    cursors: [tickets, requests],
    holders: list(holders).map((line) => holderOf(line, now)),
    waiters: list(waiters).map(waiterOf),
  };
}

const OVERVIEW = /^(\d{1,16}) (\d{1,16}) (\d{1,16}) ((?:\d{1,16}(?:,(?=\d)|(?= )))*) (.*)$/;

function overviewOf(text: string, now: number): port.OverviewReply {
  if (text.startsWith('!')) return { error: text.slice(1) };
  const [, held, waiting, arrival = '', tokens = '', state] = OVERVIEW.exec(text) ?? [];
  if (state === undefined) throw new UnexpectedReplyError('overview', text);
  return {
    ...(limitOf(state) ?? { limit: undefined, limitFrom: undefined }),
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
    label: decodeURIComponent(label),
    ...(group !== '' && { group: decodeURIComponent(group) }),
  };
}

/** `id lives tag arrival ttl label priority weight group`. */
function waiterOf(line: string): Standing {
  const [id = '', lives, tag = '', arrival = '', , label = '', ...options] = line.split(' ');
  const [priority = '0', weight = '1', group = ''] = options;
  return {
    id,
    label: decodeURIComponent(label),
    permits: parseTicketId(id)?.permits ?? 1,
    order: { priority: Number(priority), weight: Number(weight), group: decodeURIComponent(group) },
    arrival: Number(arrival),
    tag: tag === '' ? undefined : Number(tag),
    living: lives === '1',
  };
}

/** The value of a word in the field `state` of a semaphore, see `close.lua`; empty: none. */
function wordIn(state: string, word: string): string {
  return new RegExp(` ${word}:(\\S+)`).exec(state)?.[1] ?? '';
}

/** Undefined where no caller has named a limit within a day. */
function limitOf(state: string) {
  const [, caller] = /^\d{16} (\d{1,16})(?= |$)/.exec(state) ?? [];
  if (caller === undefined) return undefined;
  const stored = wordIn(state, 'stored');
  if (stored === '') return { limit: Number(caller), limitFrom: 'caller' } as const;
  return { limit: Number(stored), limitFrom: 'setLimit' } as const;
}

/** The stored rules, else the rules that a caller named lately, else the rules of this caller. */
function rulesOf(state: string, now: number, own: port.InspectCall) {
  const groupLimit = capOf(wordIn(state, 'cap'), now, own);
  return {
    ...(limitOf(state) ?? ({ limit: own.limit, limitFrom: 'options' } as const)),
    ...gcra.metersShown(metersOf(state), own, now),
    ...(groupLimit !== undefined && { groupLimit }),
  };
}

/** `permits,until`, see `caps.lua`. */
function capOf(text: string, now: number, own: port.InspectCall): number | undefined {
  const [permits, until = 0] = text.split(',').map(Number);
  return until <= now ? own.groupLimit : permits || undefined;
}

/** The rate and the budgets. */
function metersOf(state: string): gcra.KnownMeter[] {
  const words = state.matchAll(/ (?:rate|budget):([^,]*),(\S+)/g);
  return [...words].map(([, name = '', text = '']) => ({ name, ...meterOf(text) }));
}

/** `permits,period,burst,until,tat,granted,ahead`, see `gcra.lua`. Debts can take centuries. */
const METER = /^(\d{1,16}),(\d{1,16}),(\d{1,16}),(\d{1,16}),(\d{1,19}),(\d{1,16}),(\d{1,19})$/;

function meterOf(text: string): Omit<gcra.KnownMeter, 'name'> {
  const [, permits, period, burst, until, tat, granted, ahead] = METER.exec(text) ?? [];
  if (ahead === undefined) throw new UnexpectedReplyError('inspect', text);
  const rate = { permits: Number(permits), per: Number(period) / 1000, burst: Number(burst) };
  const used = { tat: Number(tat), granted: Number(granted), ahead: Number(ahead) };
  return { rate: permits === '0' ? undefined : rate, until: Number(until), ...used };
}
