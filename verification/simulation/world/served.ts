import type * as port from '../../../src/backends/backend.js';
import type { QueueGrant, ServedEvent, ServedRequest } from '../../history/events.js';

/** The fields of a reply that the history needs. */
export type AnyReply = Partial<
  port.AcquireReply & port.ExtendReply & port.ReleaseReply & port.AdoptReply & port.RevokeReply
> &
  port.SetLimitReply;

export function grantOf(
  { id, fencingToken, slots, expiresAt }: port.PushedGrant,
  heard: boolean,
): QueueGrant {
  return { id, token: fencingToken, slots, expiresAt, heard };
}

type AnyCall = port.Call &
  Partial<
    port.AcquireCall & port.ExtendCall & port.ReleaseCall & port.AdoptCall & port.RevokeCall
  > &
  Partial<port.SetLimitCall & port.SetRateCall & port.SetGroupLimitCall>;

type Details = Omit<
  ServedEvent,
  'at' | 'process' | 'type' | 'operation' | 'semaphore' | 'client' | 'time' | 'grants'
>;

export function detailsOf(operation: string, call: port.Call, reply: AnyReply): Details {
  const given = call as AnyCall;
  return {
    ttl: given.ttl,
    notAfter: given.notAfter,
    turnAt: reply.isTurn === true ? reply.askAgainAt : undefined,
    late: reply.late === true || undefined,
    requests: reply.verdicts && requestsOf(given.requests ?? [], reply),
    tickets: ticketsOf(operation, given, reply),
    newLimit: given.newLimit,
    newRate: operation === 'setRate' ? (given.newRate ?? null) : undefined,
    budget: given.budget,
    newGroupLimit: operation === 'setGroupLimit' ? (given.newGroupLimit ?? null) : undefined,
    adopted: adoptedOf(given, reply),
  };
}

function ticketsOf(operation: string, given: AnyCall, reply: AnyReply) {
  const { ids = [], id = '', fencingTokens, spent } = given;
  if (operation === 'revoke') return [{ id, there: reply.revoked === true }];
  const there = operation === 'extend' ? reply.extended : reply.released;
  if (there === undefined) return undefined;
  return ids.map((each, i) => {
    return { id: each, there: there[i] === true, token: fencingTokens?.[i], spent: spent?.[i] };
  });
}

function adoptedOf({ newId: id = '' }: AnyCall, { ticket }: AnyReply) {
  if (ticket === undefined) return undefined;
  const { slots, fencingToken: token, before } = ticket;
  return { id, token, slots, expiresAt: 0, before };
}

function requestsOf(requests: port.AcquireCall['requests'], reply: AnyReply): ServedRequest[] {
  return requests.map(({ id, permits, wait, arrival, order, cost }, i) => {
    const verdict = reply.verdicts?.[i];
    const granted = verdict?.kind === 'granted' ? verdict : undefined;
    const asked = { id, permits, wait, arrival, order, cost };
    return {
      ...asked,
      verdict: verdict?.kind ?? 'none',
      place: verdict?.kind === 'queued' ? verdict.arrival : undefined,
      token: granted?.fencingToken,
      slots: granted?.slots,
    };
  });
}
