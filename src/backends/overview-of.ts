import type { InspectReply, Overview } from './backend.js';

/** As many fencing tokens as a look at many semaphores says. */
const TOKENS = 32;

/** What a look at many semaphores says of one, from a close look at it. */
export function overviewOf(reply: InspectReply): Overview {
  const { limit, limitFrom, held, waiting, holders, waiters } = reply;
  const isKnown = limitFrom !== 'options';
  const newest = holders.toSorted((a, b) => b.expiresIn - a.expiresIn).slice(0, TOKENS);
  return {
    limit: isKnown ? limit : undefined,
    limitFrom: isKnown ? limitFrom : undefined,
    held,
    waiting,
    oldestWait: waiters[0]?.waitingFor,
    tokens: newest.map(({ fencingToken }) => fencingToken),
  };
}
