import type {
  AcquireCall,
  AcquireReply,
  AdoptCall,
  AdoptReply,
  Call,
  ExtendCall,
  ExtendReply,
  PushedGrant,
  ReleaseCall,
  ReleaseReply,
  RevokeCall,
  RevokeReply,
  SetGroupLimitCall,
  SetLimitCall,
  SetLimitReply,
  SetRateCall,
} from '../../../src/backends/backend.js';
import type { QueueGrant, ServedEvent } from '../../history/events.js';

/** A reply as the server sees it; the fields that the history needs. */
export type AnyReply = Partial<
  AcquireReply & ExtendReply & ReleaseReply & AdoptReply & RevokeReply
> &
  SetLimitReply;

export function grantOf(
  { id, fencingToken, slots, expiresAt }: PushedGrant,
  heard: boolean,
): QueueGrant {
  return { id, token: fencingToken, slots, expiresAt, heard };
}

type Details = Omit<
  ServedEvent,
  'at' | 'process' | 'type' | 'operation' | 'semaphore' | 'client' | 'time' | 'grants'
>;

export function detailsOf(operation: string, call: Call, reply: AnyReply): Details {
  const given = call as Call &
    Partial<AcquireCall & ExtendCall & ReleaseCall & AdoptCall & RevokeCall> &
    Partial<SetLimitCall & SetRateCall & SetGroupLimitCall>;
  const ids = given.ids ?? [];
  const details: { -readonly [K in keyof Details]: Details[K] } = {};
  if (given.ttl !== undefined) details.ttl = given.ttl;
  if (given.notAfter !== undefined) details.notAfter = given.notAfter;
  if (reply.late === true) details.late = true;
  if (reply.verdicts !== undefined) details.requests = requestsOf(given.requests ?? [], reply);
  if (operation === 'extend') {
    details.tickets = ids.map((id, i) => {
      const token = given.fencingTokens?.[i];
      return {
        id,
        there: reply.extended?.[i] === true,
        ...(token !== undefined && { token }),
      };
    });
  }
  if (operation === 'release') {
    details.tickets = ids.map((id, i) => {
      const spent = given.spent?.[i];
      return { id, there: reply.released?.[i] === true, ...(spent !== undefined && { spent }) };
    });
  }
  if (operation === 'revoke') {
    details.tickets = [{ id: given.id ?? '', there: reply.revoked === true }];
  }
  if (given.newLimit !== undefined) details.newLimit = given.newLimit;
  if (operation === 'setRate') details.newRate = given.newRate ?? null;
  if (given.budget !== undefined) details.budget = given.budget;
  if (operation === 'setGroupLimit') details.newGroupLimit = given.newGroupLimit ?? null;
  if (operation === 'adopt' && reply.ticket !== undefined) {
    const { slots, fencingToken: token, before } = reply.ticket;
    details.adopted = { id: given.newId ?? '', token, slots, expiresAt: 0, before };
  }
  return details;
}

function requestsOf(requests: AcquireCall['requests'], reply: AnyReply) {
  return requests.map(({ id, permits, wait, arrival, order, cost }, i) => {
    const verdict = reply.verdicts?.[i];
    const own = {
      ...(arrival !== undefined && { arrival }),
      ...(order !== undefined && { order }),
      ...(cost !== undefined && { cost }),
    };
    const request = { id, permits, wait, ...own, verdict: verdict?.kind ?? 'none' };
    if (verdict?.kind === 'queued' && verdict.arrival !== undefined) {
      return { ...request, place: verdict.arrival };
    }
    if (verdict?.kind !== 'granted') return request;
    return { ...request, token: verdict.fencingToken, slots: verdict.slots };
  });
}
