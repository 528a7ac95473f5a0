import type { HolderState, InspectCall, InspectReply } from '../backend.js';
import { askAll, MAX_NODE_TIMEOUT_MS } from './asking.js';
import type { Quorum } from './quorum.js';
import type { ListReply, NodeTicket } from './quorum-node.js';
import { nodesWhere, Votes } from './votes.js';

/** A ticket as each node reported it, with durations counted from the report. */
type Reports = ((NodeTicket & { expiresIn: number; heldFor: number }) | undefined)[];

/**
 * The tickets that a majority holds. Waiting requests are in no queue: only their processes know
 * them.
 */
export async function inspectNodes(
  quorum: Quorum,
  { key, limit }: InspectCall,
): Promise<InspectReply> {
  const answers = await askAll<ListReply>(quorum, {
    timeoutMs: MAX_NODE_TIMEOUT_MS,
    ask: (link) => link.call(MAX_NODE_TIMEOUT_MS, (node) => node.list(key)),
    // Also a silent node decides: with its vote a ticket may have a majority.
    isDecided: () => false,
  });
  quorum.assertMajority(answers);
  const reports = new Map<string, Reports>();
  answers.replies.forEach((reply, node) => {
    const { time = 0, tickets = [] } = reply ?? {};
    for (const ticket of tickets) {
      const expiresIn = ticket.expiresAt - time;
      const heldFor = Math.max(0, time - ticket.grantedAt);
      const seen = reports.get(ticket.id) ?? answers.replies.map(() => undefined);
      seen[node] = { ...ticket, expiresIn, heldFor };
      reports.set(ticket.id, seen);
    }
  });
  const holders = [...reports]
    .flatMap(([id, seen]) => holderFrom(quorum, id, seen) ?? [])
    .toSorted((a, b) => (a.slots[0] ?? 0) - (b.slots[0] ?? 0));
  const held = holders.reduce((sum, { slots }) => sum + slots.length, 0);
  return { limit, limitFrom: 'options', held, waiting: 0, holders, waiters: [] };
}

function holderFrom(
  { majorities }: Quorum,
  id: string,
  seen: Readonly<Reports>,
): HolderState | undefined {
  const votes = new Votes(majorities, 1);
  seen.forEach((report, node) => (votes.holdings[node] = report));
  const slots = votes.slots();
  if (slots.length === 0) return undefined;
  const reports = seen.filter((report) => report !== undefined);
  // A ticket has a majority until too few nodes have it.
  const untilThen = reports.filter(({ expiresIn }) =>
    majorities.reachedBy(
      nodesWhere(seen, (one) => one !== undefined && one.expiresIn >= expiresIn),
    ),
  );
  return {
    id,
    slots,
    fencingToken: votes.tokenWith([]) ?? votes.highestToken,
    expiresIn: Math.max(0, ...untilThen.map(({ expiresIn }) => expiresIn)),
    heldFor: Math.max(...reports.map(({ heldFor }) => heldFor)),
    label: reports.find(({ label }) => label !== '')?.label ?? '',
  };
}
