import type { HolderState, InspectCall, InspectReply } from '../backend.js';
import type { Quorum } from './quorum.js';
import type { ListReply, NodeTicket } from './quorum-node.js';
import { repliesIn } from './round.js';
import { highestToken, slotsWith, tokenWith } from './tally.js';

/** A ticket on one node, its times counted from the moment at which the node told. */
interface Sighting extends NodeTicket {
  readonly expiresIn: number;
  readonly heldFor: number;
}

/** What a majority holds. Requests that wait are in no queue: only their own processes know of them. */
export async function inspectNodes(
  quorum: Quorum,
  { key, limit }: InspectCall,
  timeLimit: number,
): Promise<InspectReply> {
  const answers = await quorum.ask<ListReply>({
    limit: timeLimit,
    send: (node) => node.list(key),
    // A silent node is waited for: with its vote a ticket may have a majority.
    decided: () => false,
  });
  quorum.assertMajority(answers);
  const sightings = new Map<string, Sighting[]>();
  for (const reply of repliesIn(answers)) {
    for (const ticket of reply?.tickets ?? []) {
      const expiresIn = ticket.expiresAt - (reply?.time ?? 0);
      const heldFor = Math.max(0, (reply?.time ?? 0) - ticket.grantedAt);
      const others = sightings.get(ticket.id) ?? [];
      sightings.set(ticket.id, [...others, { ...ticket, expiresIn, heldFor }]);
    }
  }
  const holders = [...sightings.values()]
    .flatMap((seen) => holderFrom(seen, quorum.majority) ?? [])
    .toSorted((a, b) => (a.slots[0] ?? 0) - (b.slots[0] ?? 0));
  const held = holders.reduce((sum, { slots }) => sum + slots.length, 0);
  return { limit, held, waiting: 0, holders, waiters: [] };
}

function holderFrom(seen: readonly Sighting[], majority: number): HolderState | undefined {
  const slots = slotsWith(majority, seen);
  const [first] = seen;
  if (slots.length === 0 || first === undefined) return undefined;
  // It has a majority until so few nodes are left that have it.
  const expiries = seen.map(({ expiresIn }) => expiresIn).toSorted((a, b) => b - a);
  return {
    id: first.id,
    slots,
    fencingToken: tokenWith(majority, seen) ?? highestToken(seen),
    expiresIn: expiries[majority - 1] ?? 0,
    heldFor: Math.max(...seen.map(({ heldFor }) => heldFor)),
    label: seen.find(({ label }) => label !== '')?.label ?? '',
  };
}
