import type * as port from '../backend.js';
import { mapKeyOf } from '../map-key.js';
import { Acquisition } from './acquisition.js';
import { extendTickets } from './extension.js';
import { inspectNodes } from './inspection.js';
import { type Answers, askAll, MAX_NODE_TIMEOUT_MS, MAX_PERMITS_PER_CALL } from './asking.js';
import { Quorum } from './quorum.js';
import type { DropCall, DropReply } from './quorum-node.js';
import { nodesWhere } from './votes.js';

/** The part of the ttl in which the batches of a call begin. */
const BATCHES_FRACTION = 1 / 4;

/**
 * Tickets on several independent masters, between which nothing is replicated. Why it counts right:
 *
 * A majority of per-node counts admits too many holders, so a semaphore of limit L is L numbered
 * slots here. Each slot is a lock of one holder, won by majority as in Redlock
 * (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/). A node gives a slot to
 * one ticket at a time, and any two majorities have a node in common, so no slot ever has two
 * tickets.
 *
 * 1. Take. The process asks all nodes at once for the slots that it aims at, else for the lowest
 *    free slots. A ticket has won when a majority gave it the same slots, as many as it needs.
 *    Nodes that gave it other slots get the right slots after that. A ticket that did not win is
 *    rolled back everywhere. If some nodes had given it a slot, contenders have split the nodes:
 *    the ticket tries again after a random pause, and aims at slots that a majority named free.
 *    Else the caller asks again later.
 * 2. Token. A node gives a fencing token to one ticket only, and only in rising order. The token of
 *    a ticket is the token that a majority gave it together with its slots. So no two tickets have
 *    the same token, and a later ticket, from another majority, gets a higher token from the node
 *    in common. The process names a token just above all clocks that it knows, so that mostly all
 *    nodes give that token in the first round. Else it proposes tokens above all given tokens,
 *    until a majority gives the same token.
 * 3. Validity. A lease counts from before the first round by the local clock, less a margin; a
 *    node's entry lives from later on for a whole ttl by the node's own clock. Absolute clocks are
 *    never compared.
 * 4. Rollback. A ticket that may have been taken in vain is dropped by id and attempt, on silent
 *    nodes too, until they confirm it or the ticket has expired there. Each try is a new attempt,
 *    and a drop spares later attempts, so a rollback is never late. A take that itself runs late is
 *    refused by its `notAfter`, dropped by the call that was sent behind it, or, at the latest,
 *    when its answer arrives.
 * 5. Extend. A ticket is held while a majority has it. Once the majority is certain, the ticket is
 *    restored on the other nodes, unless its process has released it. So a node that lost its data
 *    is whole again after the next extensions.
 *
 * Requirements: a node that lost its data stays away for one ttl, and clocks run alike within 1 %.
 */
export class QuorumBackend extends Quorum implements port.Backend {
  readonly hasNoQueue = true;
  readonly mostPermits: number = MAX_PERMITS_PER_CALL;

  /**
   * Each semaphore has a separate lane: a semaphore that needs more rounds must not delay the
   * others. Below, semaphores share the calls to a node.
   */
  laneOf(key: port.SemaphoreKey): string {
    return mapKeyOf(key);
  }

  acquire(calls: readonly port.AcquireCall[]): Promise<readonly port.AcquireReply[]> {
    return Promise.all(calls.map((call) => this.#acquire(call)));
  }

  /**
   * Gives an id that was granted before its ticket again. Takes tickets for the other ids in
   * batches, while their leases have hardly begun: the caller asks again for the rest. An id that
   * another call is taking gets its verdict from that call.
   */
  async #acquire(call: port.AcquireCall): Promise<port.AcquireReply> {
    const { limit, ttl, notAfter = Infinity, requests } = call;
    const { open, held, clock } = this;
    const verdicts = new Map<string, port.AcquireVerdict>();
    const renewed = requests.filter(({ id }) => held.get(id) !== undefined);
    if (renewed.length > 0) await extendTickets(this, call, renewed);
    for (const { id } of renewed) {
      const ticket = held.get(id);
      if (ticket === undefined) continue;
      verdicts.set(id, { kind: 'granted', fencingToken: ticket.token, slots: ticket.slots });
    }
    const fresh = requests.filter(
      ({ id, permits }) => permits <= limit && !verdicts.has(id) && !open.has(id),
    );
    const until = Math.min(notAfter, clock.monotonic() + ttl * BATCHES_FRACTION);
    let otherLimit: number | undefined;
    for (const batch of this.batches.split(fresh)) {
      if (clock.monotonic() > until) break;
      try {
        const other = await new Acquisition(this, { ...call, requests: batch }).run(verdicts);
        otherLimit ??= other;
      } catch (error) {
        // The caller must learn of the tickets that earlier batches won.
        if (verdicts.size === 0) throw error;
        break;
      }
    }
    const verdictOn = ({ id, permits, wait }: port.TicketRequest): port.AcquireVerdict => {
      if (permits > limit) return { kind: 'over', limit };
      return verdicts.get(id) ?? (wait ? { kind: 'queued', arrival: undefined } : { kind: 'late' });
    };
    const all = requests.map(verdictOn);
    return { ...this.#reply(), otherLimit, askAgainAt: undefined, verdicts: all };
  }

  extend(calls: readonly port.ExtendCall[]): Promise<readonly port.ExtendReply[]> {
    return Promise.all(
      calls.map(async (call) => {
        const extended: boolean[] = [];
        for (const batch of this.batches.split(call.ids.map((id) => ({ id })))) {
          extended.push(...(await extendTickets(this, call, batch)));
        }
        return { ...this.#reply(), extended };
      }),
    );
  }

  release(calls: readonly port.ReleaseCall[]): Promise<readonly port.ReleaseReply[]> {
    return Promise.all(calls.map((call) => this.#release(call)));
  }

  async #release(call: port.ReleaseCall): Promise<port.ReleaseReply> {
    const { open, held } = this;
    const wereHeld = call.ids.every((id) => held.get(id) !== undefined);
    for (const id of call.ids) {
      open.delete(id);
      held.release(id);
    }
    const origin = this.originOf(wereHeld);
    const released: boolean[] = [];
    for (const tickets of this.batches.split(call.ids.map((id) => ({ id, attempt: Infinity })))) {
      released.push(...(await this.#drop({ key: call.key, origin, tickets })));
    }
    return { ...this.#reply(), released };
  }

  /**
   * Gives tickets back on all nodes. Gives for each ticket whether a majority had it; throws when
   * that is not known, and then a second try may find nothing. Nodes that fail are asked again in
   * the background.
   */
  async #drop(call: DropCall): Promise<boolean[]> {
    const verdictOn = ({ replies }: Answers<DropReply>, i: number): boolean | undefined => {
      const having = nodesWhere(replies, (reply) => reply?.dropped[i] === true);
      const lacking = nodesWhere(replies, (reply) => reply?.dropped[i] === false);
      if (this.majorities.reachedBy(having)) return true;
      return this.majorities.possibleWithout(lacking) ? undefined : false;
    };
    const answers = await askAll<DropReply>(this, {
      timeoutMs: MAX_NODE_TIMEOUT_MS,
      ask: (link) => link.drop(call),
      isDecided: (given) => call.tickets.every((_, i) => verdictOn(given, i) !== undefined),
    });
    return call.tickets.map((_, i) => {
      const verdict = verdictOn(answers, i);
      if (verdict === undefined) throw this.errorFor(answers);
      return verdict;
    });
  }

  inspect(call: port.InspectCall): Promise<port.InspectReply> {
    return inspectNodes(this, call);
  }

  /** Reports a node in danger, though a majority is safe. A node that hangs delays no report. */
  async findHazard(key: port.SemaphoreKey): Promise<string | undefined> {
    const asked = this.links.map(async ({ node }, index) => {
      const hazard = await node.findHazard?.(key);
      return hazard === undefined ? Promise.reject(new Error('none')) : `node ${index}: ${hazard}`;
    });
    return Promise.any(asked).catch(() => undefined);
  }

  /**
   * Several nodes have no common server time: the local time takes its place, and the caller
   * compares its clocks with that.
   */
  #reply() {
    return { serverTime: this.clock.monotonic(), grants: [] };
  }
}
