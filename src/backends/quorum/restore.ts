import { randomBy } from '../../time/clock.js';
import { nodeTimeout } from './node-timeout.js';
import type { Quorum, TicketTerms } from './quorum.js';
import type { Holding, KeepRequest } from './quorum-node.js';
import { sameSlots } from './tally.js';

/** How often a ticket is put back on a node where another contender is just trying for its slot. */
const MAX_TRIES = 3;
const PAUSE_MS = 10;

/**
 * Puts tickets that a majority holds on one node that lacks them, in the background. What fails is
 * tried again with the next extension.
 */
export function restoreTickets(
  quorum: Quorum,
  index: number,
  terms: TicketTerms,
  ids: readonly string[],
): void {
  void restore(quorum, index, terms, ids).catch(() => undefined);
}

async function restore(
  quorum: Quorum,
  index: number,
  terms: TicketTerms,
  ids: readonly string[],
  tries: number = MAX_TRIES,
): Promise<void> {
  const requests = ids.flatMap((id) => restoreRequest(quorum, id) ?? []);
  const link = quorum.links[index];
  if (requests.length === 0 || link === undefined) return;
  const { claim } = quorum.sets;
  const { holdings } = await link.call(nodeTimeout(terms.ttl), (node, timing) =>
    node.keep({ ...terms, ...timing, claim, requests }),
  );
  rollBackReleased(quorum, index, terms, requests, holdings);
  const again = requests.filter(({ slots }, i) => !sameSlots(holdings[i]?.slots ?? [], slots));
  if (again.length === 0 || tries <= 1) return;
  const pauseMs = PAUSE_MS * (0.5 + randomBy(quorum.clock));
  await new Promise<void>((resolve) => quorum.clock.schedule(resolve, pauseMs, false));
  await restore(
    quorum,
    index,
    terms,
    again.map(({ id }) => id),
    tries - 1,
  );
}

/** What was released while it was being put back. */
function rollBackReleased(
  quorum: Quorum,
  index: number,
  { key }: TicketTerms,
  requests: readonly KeepRequest[],
  holdings: readonly (Holding | undefined)[],
): void {
  requests.forEach(({ id }, i) => {
    if (holdings[i] !== undefined && quorum.held.get(id) === undefined) {
      quorum.rollBack(index, key, id, Infinity);
    }
  });
}

/** What a node is sent that lacks a ticket; undefined when it is no longer held. */
export function restoreRequest(quorum: Quorum, id: string): KeepRequest | undefined {
  const ticket = quorum.held.get(id);
  if (ticket === undefined) return undefined;
  const { slots, token, attempt, label } = ticket;
  return { id, mode: 'restore', attempt, slots, token, label };
}
