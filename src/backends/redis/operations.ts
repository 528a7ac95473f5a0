import type {
  AddPermitsCall,
  AddPermitsReply,
  AcquireCall,
  AcquireReply,
  AdoptCall,
  AdoptReply,
  ExtendCall,
  ExtendReply,
  ReleaseCall,
  ReleaseReply,
  RevokeCall,
  RevokeReply,
  SetLimitCall,
  SetLimitReply,
  SetRateCall,
  SetRateReply,
  TicketRequest,
  RequestOrder,
} from '../backend.js';
import { microseconds } from '../gcra.js';
import { NO_ORDER } from '../request-order.js';
import {
  parseAcquire,
  parseAddPermits,
  parseAdopt,
  parseChange,
  parseExtend,
  parseRelease,
  parseRevoke,
} from './replies.js';
import { rateText } from './rate-text.js';
import type { Operation } from './script-call.js';
import {
  acquireScript,
  adoptScript,
  extendScript,
  releaseScript,
  revokeScript,
  setLimitScript,
  setRateScript,
} from './scripts.js';

export const acquireOperation: Operation<AcquireCall, AcquireReply> = {
  script: acquireScript,
  terms: (call) => [...life(call), encodeURIComponent(call.label), latest(call.notAfter)],
  sameTerms: (one, other) =>
    one.limit === other.limit &&
    one.ttl === other.ttl &&
    one.notAfter === other.notAfter &&
    one.label === other.label,
  argument: requestsText,
  parse: (part, { requests }) => parseAcquire(part, requests),
};

export const extendOperation: Operation<ExtendCall, ExtendReply> = {
  script: extendScript,
  terms: life,
  sameTerms: (one, other) => one.limit === other.limit && one.ttl === other.ttl,
  argument: ({ ids, fencingTokens = [] }) => `${listText(ids)}|${listText(fencingTokens)}`,
  parse: (part, { ids }) => parseExtend(part, ids),
};

export const releaseOperation: Operation<ReleaseCall, ReleaseReply> = {
  script: releaseScript,
  terms: ({ limit }) => [String(limit)],
  sameTerms: (one, other) => one.limit === other.limit,
  argument: ({ ids }) => idsText(eachOnce(ids)),
  parse: (part, { ids }) => releasedOnce(parseRelease(part, eachOnce(ids)), ids),
};

/** The others take one semaphore. */
const alone = (): boolean => false;

export const setLimitOperation: Operation<SetLimitCall, SetLimitReply> = {
  script: setLimitScript,
  terms: ({ limit, newLimit }) => [String(limit), String(newLimit), ''],
  sameTerms: alone,
  argument: ({ notAfter }) => latest(notAfter),
  parse: (part) => parseChange('set-limit', part),
};

export const setRateOperation: Operation<SetRateCall, SetRateReply> = {
  script: setRateScript,
  terms: ({ limit, newRate }) => [
    String(limit),
    newRate === undefined ? 'none' : rateText(newRate),
  ],
  sameTerms: alone,
  argument: ({ notAfter }) => latest(notAfter),
  parse: (part) => parseChange('set-rate', part),
};

export const addPermitsOperation: Operation<AddPermitsCall, AddPermitsReply> = {
  script: setLimitScript,
  terms: ({ limit, delta, id }) => [String(limit), delta < 0 ? String(delta) : `+${delta}`, id],
  sameTerms: alone,
  argument: ({ notAfter }) => latest(notAfter),
  parse: parseAddPermits,
};

export const adoptOperation: Operation<AdoptCall, AdoptReply> = {
  script: adoptScript,
  terms: (call) => [...life(call), encodeURIComponent(call.label), latest(call.notAfter), call.id],
  sameTerms: alone,
  argument: ({ newId }) => newId,
  parse: parseAdopt,
};

export const revokeOperation: Operation<RevokeCall, RevokeReply> = {
  script: revokeScript,
  terms: ({ limit }) => [String(limit)],
  sameTerms: alone,
  argument: ({ id }) => id,
  parse: parseRevoke,
};

function life({ limit, ttl }: { readonly limit: number; readonly ttl: number }): string[] {
  return [String(limit), String(microseconds(ttl))];
}

/** The last moment at which a call may act. Scripts compare it as text, with the server's time. */
function latest(notAfter: number | undefined): string {
  return notAfter === undefined ? '' : String(microseconds(notAfter)).padStart(16, '0');
}

/** See `acquire.lua`. */
function requestsText(call: AcquireCall): string {
  const { requests } = call;
  const [first] = requests;
  const options = optionsText(call);
  const plain = options === '' && requests.every(isPlain);
  if (plain && first !== undefined && requests.length === 1) {
    return first.wait ? first.id : `?${first.id}`;
  }
  const ids = requests.map(({ id }) => id);
  if (plain && requests.every(({ wait }) => wait)) return listText(ids);
  const kinds = requests.map(kindOf).join('');
  const known = requests.some(({ arrival }) => arrival !== undefined);
  const places = known ? JSON.stringify(requests.map(({ arrival = 0 }) => arrival)) : '';
  return `${listText(ids)}|${kinds}|${places}${options}`;
}

function isPlain({ permits, arrival, asksProgress }: TicketRequest): boolean {
  return permits === 1 && arrival === undefined && asksProgress !== true;
}

function kindOf({ wait, asksProgress }: TicketRequest): string {
  if (!wait) return 't';
  return asksProgress === true ? 'p' : 'w';
}

/** What is asked for beside permits; empty where nobody uses an option. */
function optionsText({ requests, maxWaiting, rate }: AcquireCall): string {
  const ordered = requests.some(({ order }) => order !== undefined);
  const orders = ordered ? listText(requests.map(({ order }) => orderText(order))) : '';
  // A request that only tries is never queued.
  const most = maxWaiting !== undefined && requests.some(({ wait }) => wait) ? maxWaiting : '';
  const named = rate === undefined ? '' : rateText(rate);
  return orders === '' && most === '' && named === '' ? '' : `|${orders}|${most}|${named}`;
}

/** `priority weight group`. */
function orderText({ priority, weight, group }: RequestOrder = NO_ORDER): string {
  return `${priority} ${weight} ${encodeURIComponent(group)}`;
}

/** Ids as scripts take them: a single one is read faster as it is. */
function idsText(ids: readonly string[]): string {
  const [first] = ids;
  return ids.length === 1 && first !== undefined ? first : listText(ids);
}

/** A JSON list of texts that need no escapes: ids and tokens. */
function listText(texts: readonly (string | number)[]): string {
  return texts.length === 0 ? '[]' : `["${texts.join('","')}"]`;
}

function eachOnce(ids: readonly string[]): readonly string[] {
  return ids.length === 1 ? ids : [...new Set(ids)];
}

/** An id that is named twice is given back once. */
function releasedOnce(reply: ReleaseReply, ids: readonly string[]): ReleaseReply {
  if (reply.released.length === ids.length) return reply;
  const left = new Set(eachOnce(ids).filter((_, i) => reply.released[i] === true));
  return { ...reply, released: ids.map((id) => left.delete(id)) };
}
