import type { InspectReply, Overview } from './backend.js';

/** Fencing tokens of a semaphore in a list of all, at most. */
const TOKENS = 32;

/** The figures of a semaphore in a list of all, from its whole state. */
export function overviewOf(reply: InspectReply): Overview {
  const { limit, limitFrom, held, waiting, holders, waiters } = reply;
  const isKnown = limitFrom !== 'options';
  const waits = waiters.map(({ waitingFor }) => waitingFor);
  const newest = holders.toSorted((a, b) => b.expiresIn - a.expiresIn).slice(0, TOKENS);
  return {
    limit: isKnown ? limit : undefined,
    limitFrom: isKnown ? limitFrom : undefined,
    held,
    waiting,
    oldestWait: waits.length === 0 ? undefined : waits.reduce((a, b) => Math.max(a, b)),
    tokens: newest.map(({ fencingToken }) => fencingToken),
  };
}
