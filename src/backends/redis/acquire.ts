import type * as port from '../backend.js';
import { RATE } from '../gcra.js';
import { NO_ORDER } from '../request-order.js';
import { script } from './compose-script.js';
import type { Operation } from './operation.js';
import { costsText, lifeOf, list, listText, rateText, textOf, ticketOf } from './wire-text.js';

/** See `acquire.lua`. */
export const acquire: Operation<port.AcquireCall, port.AcquireReply> = {
  script: script('acquire'),
  shared: lifeOf,
  shares: (one, other) =>
    one.limit === other.limit &&
    one.ttl === other.ttl &&
    one.notAfter === other.notAfter &&
    one.label === other.label,
  argument: requestsText,
  read: ({ body, serverTime, grants, storedLimit, otherLimit, askAgainAt, isTurn }, call) => {
    const verdicts = verdictsOf(body);
    if (verdicts?.length !== call.requests.length) return undefined;
    // Field by field: a spread costs several times as much on this path.
    return { serverTime, grants, storedLimit, otherLimit, askAgainAt, isTurn, verdicts };
  },
};

/** All or none: each call has one request, and it only tries. */
export const together: typeof acquire = {
  ...acquire,
  sign: '*',
  argument: ({ requests }) => requests[0]?.id ?? '',
};

/** `time|number`: the first semaphore that is not plainly free, where all or none was asked for. */
export function saysBusy(reply: unknown): boolean {
  return /^\d{1,16}\|\d{1,15}$/.test(textOf(reply));
}

function requestsText(call: port.AcquireCall): string {
  const { requests, maxWaiting } = call;
  const waits = requests.some(({ wait }) => wait);
  // A request that only tries is never queued.
  const most = waits ? (maxWaiting ?? '') : '';
  const rules = rulesText(call);
  const isPlain = most === '' && rules === '' && requests.every(isPlainRequest);
  const first = requests[0];
  // The script reads a single id faster as it is.
  if (first !== undefined && requests.length === 1) {
    if (isPlain) return waits ? first.id : `?${first.id}`;
    const { id, arrival = 0 } = first;
    return [`@${id}`, kindOf(first), arrival, orderText(first), most, rules].join('|');
  }
  const ids = listText(requests.map(({ id }) => id));
  if (isPlain && requests.every(({ wait }) => wait)) return ids;
  const arrivals = JSON.stringify(requests.map(({ arrival = 0 }) => arrival));
  const orders = listText(requests.map(orderText));
  return [ids, requests.map(kindOf).join(''), arrivals, orders, most, rules].join('|');
}

function isPlainRequest(request: port.TicketRequest): boolean {
  const { permits, arrival, asksProgress, order, cost } = request;
  const isOne = permits === 1 && arrival === undefined && asksProgress !== true;
  return isOne && order === undefined && cost === undefined;
}

function kindOf({ wait, asksProgress }: port.TicketRequest): string {
  return wait ? (asksProgress ? 'p' : 'w') : 't';
}

/** `cap;name,terms;…`, the rate without a name. */
function rulesText({ rate, groupLimit, budgets }: port.AcquireCall): string {
  if ((rate ?? groupLimit ?? budgets) === undefined) return '';
  const meters = Object.entries({ ...(rate && { [RATE]: rate }), ...budgets });
  return [groupLimit ?? '', ...meters.map(([name, of]) => `${name},${rateText(of)}`)].join(';');
}

/** `priority weight group costs`. */
function orderText({ order = NO_ORDER, cost }: port.TicketRequest): string {
  const { priority, weight, group } = order;
  const text = `${priority} ${weight} ${encodeURIComponent(group)}`;
  return cost === undefined ? text : `${text} ${costsText(cost)}`;
}

/** Undefined where a text among them is no verdict. */
function verdictsOf(body: string): port.AcquireVerdict[] | undefined {
  const areSeveral = body.includes(';') || body.startsWith('*') || body === '';
  const verdicts = areSeveral ? list(body).flatMap(rowOf) : [verdictOf(body)];
  return verdicts.every((verdict) => verdict !== undefined) ? verdicts : undefined;
}

/** `*n slot token`: n tickets of one permit each, slots and tokens rising. */
function rowOf(text: string): port.AcquireVerdict | undefined | port.AcquireVerdict[] {
  const [, total, slot, token] = /^\*(\d{1,5}) (\d{1,15}) (\d{1,16})$/.exec(text) ?? [];
  if (total === undefined) return verdictOf(text);
  return Array.from({ length: Number(total) }, (_, i) => ({
    kind: 'granted',
    slots: [Number(slot) + i],
    fencingToken: Number(token) + i,
  }));
}

function verdictOf(text: string): port.AcquireVerdict | undefined {
  const ticket = ticketOf(text);
  if (ticket) return { kind: 'granted', fencingToken: ticket.fencingToken, slots: ticket.slots };
  if (text === 'b') return { kind: 'busy' };
  if (text === 'l') return { kind: 'late' };
  if (/^f\d{1,16}$/.test(text)) return { kind: 'full', waiting: Number(text.slice(1)) };
  if (/^o[1-9]\d{0,15}$/.test(text)) return { kind: 'over', limit: Number(text.slice(1)) };
  return text.startsWith('q') ? queuedOf(text) : undefined;
}

const QUEUED = /^q(\d{1,16})(?:,(\d{1,16}),(\d{1,16}),(\d{0,16}))?$/;

/** `q` and the arrival, and if the request asked for it `,position,waiting,estimate`. */
function queuedOf(text: string): port.AcquireVerdict | undefined {
  const [, arrival, position, waiting, estimate] = QUEUED.exec(text) ?? [];
  if (arrival === undefined) return undefined;
  if (waiting === undefined) return { kind: 'queued', arrival: Number(arrival) };
  const progress = {
    position: Number(position),
    waiting: Number(waiting),
    estimate: estimate === '' ? undefined : Number(estimate) / 1000,
  };
  return { kind: 'queued', arrival: Number(arrival), progress };
}
