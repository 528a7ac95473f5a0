import type * as port from '../backend.js';
import { RATE } from '../gcra.js';
import { NO_ORDER } from '../request-order.js';
import { script } from './compose-script.js';
import type { Operation } from './operation.js';
import { costsText, lifeOf, list, listText, rateText, textOf, ticketOf } from './wire-text.js';

const LATE: port.AcquireVerdict = { kind: 'late' };

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
  read: (
    { body, serverTime, grants, storedLimit, otherLimit, askAgainAt, isTurn },
    { requests },
  ) => {
    const verdicts = body === 'l' ? requests.map(() => LATE) : verdictsOf(body);
    if (verdicts?.length !== requests.length) return undefined;
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
  // A request that only tries is never queued.
  const most = requests.some(({ wait }) => wait) ? (maxWaiting ?? '') : '';
  const rules = rulesText(call);
  const isPlain = most === '' && rules === '' && requests.every(isPlainRequest);
  const [first] = requests;
  if (first !== undefined && requests.length === 1) {
    const text = requestText(first);
    // The script reads a single id faster as it is.
    return isPlain ? text : `@${text}|${most}|${rules}`;
  }
  const texts = listText(requests.map(requestText));
  return isPlain && requests.every(({ wait }) => wait) ? texts : `${texts}|${most}|${rules}`;
}

function isPlainRequest(request: port.TicketRequest): boolean {
  const { permits, arrival, asksProgress, order, cost } = request;
  const isOne = permits === 1 && arrival === undefined && asksProgress !== true;
  return isOne && order === undefined && cost === undefined;
}

/** `id arrival priority weight group costs`, and before it what it asks for. */
function requestText(request: port.TicketRequest): string {
  const { id, wait, asksProgress, arrival = '', order = NO_ORDER, cost } = request;
  const text = (wait ? (asksProgress ? '+' : '') : '?') + id;
  if (request.order === undefined && cost === undefined) {
    return arrival === '' ? text : `${text} ${arrival}`;
  }
  const options = `${order.priority} ${order.weight} ${encodeURIComponent(order.group)}`;
  const costs = cost === undefined ? '' : ` ${costsText(cost)}`;
  return `${text} ${arrival} ${options}${costs}`;
}

/** `cap;name,terms;…`, the rate without a name. */
function rulesText({ rate, groupLimit, budgets }: port.AcquireCall): string {
  if ((rate ?? groupLimit ?? budgets) === undefined) return '';
  const meters = Object.entries({ ...(rate && { [RATE]: rate }), ...budgets });
  return [groupLimit ?? '', ...meters.map(([name, of]) => `${name},${rateText(of)}`)].join(';');
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
  if (/^f\d{1,16}$/.test(text)) return { kind: 'full', waiting: Number(text.slice(1)) };
  if (/^o[1-9]\d{0,15}$/.test(text)) return { kind: 'over', limit: Number(text.slice(1)) };
  return text.startsWith('q') ? queuedOf(text) : undefined;
}

const QUEUED = /^q(\d{1,16})(?:,(\d{1,16}),(\d{1,16}))?$/;

/** `q` and the arrival, and if the request asked for it `,position,waiting`. */
function queuedOf(text: string): port.AcquireVerdict | undefined {
  const [, arrival, position, waiting] = QUEUED.exec(text) ?? [];
  if (arrival === undefined) return undefined;
  if (waiting === undefined) return { kind: 'queued', arrival: Number(arrival) };
  const progress = { position: Number(position), waiting: Number(waiting) };
  return { kind: 'queued', arrival: Number(arrival), progress };
}
