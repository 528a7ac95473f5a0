import type { HolderState, InspectCall, InspectReply } from '../backend.js';
import type { Majorities } from './majorities.js';
import { nodesWhere } from './majorities.js';
import { MAX_NODE_TIMEOUT_MS } from './node-timeout.js';
import type { Quorum } from './quorum.js';
import type { ListReply, NodeTicket } from './quorum-node.js';
import { repliesIn } from './round.js';
import { highestToken, slotsWith, tokenWith } from './tally.js';

/** A ticket on one node, its times counted from the moment at which the node reported. */
interface ReportedTicket extends NodeTicket {
  readonly expiresIn: number;
  readonly heldFor: number;
}

/**
 * What a majority holds. Requests that wait are in no queue: only their own processes know of them.
 */
export async function inspectNodes(
  quorum: Quorum,
  { key, limit }: InspectCall,
): Promise<InspectReply> {
  const answers = await quorum.ask<ListReply>({
    timeoutMs: MAX_NODE_TIMEOUT_MS,
    send: (node) => node.list(key),
    // A silent node is waited for: with its vote a ticket may have a majority.
    decided: () => false,
  });
  quorum.assertMajority(answers);
  const reports = new Map<string, (ReportedTicket | undefined)[]>();
  repliesIn(answers).forEach((reply, node) => {
    for (const ticket of reply?.tickets ?? []) {
      const expiresIn = ticket.expiresAt - (reply?.time ?? 0);
      const heldFor = Math.max(0, (reply?.time ?? 0) - ticket.grantedAt);
      const seen = reports.get(ticket.id) ?? answers.map(() => undefined);
      seen[node] = { ...ticket, expiresIn, heldFor };
      reports.set(ticket.id, seen);
    }
  });
  const holders = [...reports.values()]
    .flatMap((seen) => holderFrom(seen, quorum.majorities) ?? [])
    .toSorted((a, b) => (a.slots[0] ?? 0) - (b.slots[0] ?? 0));
  const held = holders.reduce((sum, { slots }) => sum + slots.length, 0);
  return { limit, limitFrom: 'options', held, waiting: 0, holders, waiters: [] };
}

/** `seen`: by each node. */
function holderFrom(
  seen: readonly (ReportedTicket | undefined)[],
  majorities: Majorities,
): HolderState | undefined {
  const slots = slotsWith(majorities, seen);
  const reports = seen.filter((report) => report !== undefined);
  const [first] = reports;
  if (slots.length === 0 || first === undefined) return undefined;
  return {
    id: first.id,
    slots,
    fencingToken: tokenWith(majorities, seen) ?? highestToken(seen),
    expiresIn: majorityUntil(seen, majorities),
    heldFor: Math.max(...reports.map(({ heldFor }) => heldFor)),
    label: reports.find(({ label }) => label !== '')?.label ?? '',
  };
}

/** It has a majority until so few nodes are left that have it. */
function majorityUntil(
  seen: readonly (ReportedTicket | undefined)[],
  majorities: Majorities,
): number {
  const expiries = seen.flatMap((report) => report?.expiresIn ?? []);
  const enough = expiries.filter((expiry) =>
    majorities.reachedBy(nodesWhere(seen, (one) => one !== undefined && one.expiresIn >= expiry)),
  );
  return Math.max(0, ...enough);
}
