import type { HolderState, InspectCall, InspectReply } from '../backend.js';
import { askAll, MAX_NODE_TIMEOUT_MS, repliedIn } from './asking.js';
import type { Quorum } from './quorum.js';
import type { ListReply, NodeTicket } from './quorum-node.js';
import { type Majorities, Votes } from './votes.js';

/**
 * The tickets that a majority holds. Waiting requests are in no queue: only their processes know
 * them.
 */
export async function inspectNodes(
  quorum: Quorum,
  { key, limit }: InspectCall,
): Promise<InspectReply> {
  const { majorities } = quorum;
  const found = new Map<string, Votes<NodeTicket>>();
  const answers = await askAll<ListReply>(quorum, {
    timeoutMs: MAX_NODE_TIMEOUT_MS,
    ask: (link) => link.call(MAX_NODE_TIMEOUT_MS, (node) => node.list(key)),
    isDecided: (given, node) => {
      for (const ticket of given.replies[node]?.tickets ?? []) {
        const votes = found.get(ticket.id) ?? new Votes(majorities, 1);
        votes.holdings[node] = ticket;
        found.set(ticket.id, votes);
      }
      // With the vote of a silent node a slot may have a majority.
      const isOpen = (v: Votes) => v.slots(given.pending).length > v.slots().length;
      return majorities.reachedBy(repliedIn(given)) && ![...found.values()].some(isOpen);
    },
  });
  quorum.assertMajority(answers);
  const holders = [...found]
    .flatMap(([id, votes]) => holderFrom(majorities, id, votes) ?? [])
    .toSorted((a, b) => (a.slots[0] ?? 0) - (b.slots[0] ?? 0));
  const held = holders.reduce((sum, { slots }) => sum + slots.length, 0);
  return { limit, limitFrom: 'options', held, waiting: 0, holders, waiters: [] };
}

function holderFrom(
  majorities: Majorities,
  id: string,
  votes: Votes<NodeTicket>,
): HolderState | undefined {
  const slots = votes.slots();
  if (slots.length === 0) return undefined;
  const tickets = votes.holdings.filter((ticket) => ticket !== undefined);
  // A ticket has a majority until too few nodes have it.
  const lives = votes.holdings.map((ticket) =>
    tickets.flatMap(({ expiresIn }) => (ticket && ticket.expiresIn >= expiresIn ? expiresIn : [])),
  );
  return {
    id,
    slots,
    fencingToken: votes.tokenWith([]) ?? votes.highestToken,
    expiresIn: Math.max(0, ...majorities.elect(lives)),
    heldFor: Math.max(...tickets.map(({ heldFor }) => heldFor)),
    label: tickets.find(({ label }) => label !== '')?.label ?? '',
  };
}
