import type * as port from '../backend.js';
import { metersShown, microseconds } from '../gcra.js';
import { overviewOf } from '../overview-of.js';
import { INSPECT_PAGE } from '../protocol.js';
import { type Standing, waitersOf } from '../request-order.js';
import { parseTicketId } from '../ticket-id.js';
import { script } from './compose-script.js';
import type { RedisConnection } from './connection.js';
import { keysOf } from './keys.js';
import { runScript } from './script-runner.js';
import { readState, type StoredState } from './stored-state.js';
import { list, milliseconds, slotsOf, textOf, TIME, UnexpectedReplyError } from './wire-text.js';

const inspectScript = script('inspect');

/** In a list of semaphores hardly any needs a second page. */
const LIST_PAGE = 10 * INSPECT_PAGE;

/** What a page says; see `inspect.lua`. */
interface Page {
  readonly now: number;
  readonly state: StoredState;
  /** Where the next page begins among the tickets and among the requests; '' at the end. */
  readonly cursors: readonly string[];
  readonly holders: readonly port.HolderState[];
  readonly waiters: readonly Standing[];
}

/**
 * Page by page; other calls may come between two pages.
 * @param pages the first pages, if they have been read
 */
export async function inspect(
  connection: RedisConnection,
  call: port.InspectCall,
  pages: Page[] = [],
  size: number = INSPECT_PAGE,
): Promise<port.InspectReply> {
  let cursors = pages.at(-1)?.cursors ?? ['0', '0'];
  while (cursors.some((cursor) => cursor !== '')) {
    const args = [...cursors, String(size)];
    const read = await runScript(connection, inspectScript, keysOf(call.key), args, pagesOf);
    pages.push(...read.map(([time, text]) => pageOf(text, time)));
    ({ cursors = [] } = pages.at(-1) ?? {});
  }
  const holders = new Map(pages.flatMap((page) => page.holders).map((one) => [one.id, one]));
  const waiting = new Map(pages.flatMap((page) => page.waiters).map((one) => [one.id, one]));
  const { state, now } = pages.at(-1) ?? { state: readState('', 0), now: 0 };
  const bySlot = [...holders.values()].toSorted((a, b) => (a.slots[0] ?? 0) - (b.slots[0] ?? 0));
  const held = bySlot.reduce((sum, { slots }) => sum + slots.length, 0);
  const waiters = waitersOf([...waiting.values()], now, state.timeOf);
  const limit = state.limit ?? { limit: call.limit, limitFrom: 'options' };
  const groupLimit = state.groupLimit === undefined ? call.groupLimit : state.groupLimit;
  const rules = {
    ...limit,
    ...metersShown(state.meters, call, microseconds(now)),
    ...(typeof groupLimit === 'number' && { groupLimit }),
  };
  return { ...rules, held, waiting: waiters.length, holders: bySlot, waiters };
}

/** Of the first semaphores at least one, see `inspect.lua`. A large semaphore takes more pages. */
export async function overview(
  connection: RedisConnection,
  keys: readonly port.SemaphoreKey[],
): Promise<readonly port.OverviewReply[]> {
  const args = ['0', '0', String(LIST_PAGE), 'each'];
  const read = await runScript(connection, inspectScript, keys.flatMap(keysOf), args, pagesOf);
  const looks = keys.slice(0, read.length).map(async (key, i) => {
    const [time = 0, text = ''] = read[i] ?? [];
    if (text.startsWith('!')) return { error: text.slice(1) };
    const pages = [pageOf(text, time)];
    return overviewOf(await inspect(connection, { key, limit: 0 }, pages, LIST_PAGE));
  });
  return Promise.all(looks);
}

/** The time and pages, with line ends between. */
function pagesOf(reply: unknown): [time: number, text: string][] {
  const [time = '', ...pages] = textOf(reply).split('\n');
  if (!TIME.test(time) || pages.length === 0) throw new UnexpectedReplyError('inspect', reply);
  return pages.map((page) => [milliseconds(time), page]);
}

/** `state|cursor|cursor|holders|waiters`, see `inspect.lua`. */
function pageOf(text: string, now: number): Page {
  const parts = text.split('|');
  const [state = '', ticketCursor = '', requestCursor = '', holders = '', waiters = ''] = parts;
  if (parts.length !== 5) throw new UnexpectedReplyError('inspect', text);
  return {
    now,
    state: readState(state, now),
    cursors: [ticketCursor, requestCursor],
    holders: list(holders).map((line) => holderOf(line, now)),
    waiters: list(waiters).map(waiterOf),
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
