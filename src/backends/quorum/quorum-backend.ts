import type {
  AcquireCall,
  AcquireReply,
  AcquireVerdict,
  Backend,
  ExtendCall,
  ExtendReply,
  InspectCall,
  InspectReply,
  ReleaseCall,
  ReleaseReply,
  SemaphoreKey,
} from '../backend.js';
import type { Clock } from '../../time/clock.js';
import { systemClock } from '../../time/clock.js';
import { QuorumError } from '../../errors.js';
import { placeOf } from '../place-of.js';
import { Acquisition } from './acquisition.js';
import { MAX_PERMITS_PER_CALL, permitsOf } from './batch-size.js';
import { Extension } from './extension.js';
import { inspectNodes } from './inspection.js';
import type { HazardListener, QuorumSettings } from './quorum.js';
import { Quorum } from './quorum.js';
import type { QuorumNode } from './quorum-node.js';
import { releaseTickets } from './release.js';

/** Part of the ttl in which the batches of one call begin. */
const BATCHES_FRACTION = 1 / 4;

/**
 * Tickets on several independent masters, between which nothing is replicated. Why it counts right:
 *
 * A majority of per-node counts admits too many, so a semaphore of limit L is L numbered slots
 * here, each a one-holder lock won by majority as in Redlock
 * (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/). A node gives a slot to
 * one ticket at a time, and any two majorities have a node in common, so no slot ever has two
 * tickets.
 *
 * 1. Take. All nodes are asked at once for the slots aimed at, else the lowest free ones. A ticket
 *    has won when a majority gave it the same slots, as many as it needs. Nodes that gave it other
 *    slots are asked for the right ones after that. A ticket that did not win is rolled back
 *    everywhere. If some nodes had given it something, contenders split the nodes: it tries again
 *    after a random pause, and aims at slots that a majority named free. Else it is asked for
 *    later.
 * 2. Token. A node gives a fencing token to one ticket only, and only in rising order. A ticket's
 *    token is one that a majority gave it together with its slots. So no two tickets have the same,
 *    and a later ticket, from another majority, gets a higher one from the node in common. The
 *    client names a token just above all clocks that it knows, so that mostly all nodes give that
 *    very one in the first round. Else one above all that were given is proposed, until a majority
 *    gives it.
 * 3. Validity. A lease counts from before the first round by the local clock, less a margin; a
 *    node's entry lives from later on for a whole ttl by the node's own clock. Absolute clocks are
 *    never compared.
 * 4. Rollback. Everything that may have been taken in vain is dropped by id and attempt, on silent
 *    nodes too, until they confirm or it has expired there. Each try is a new attempt, and a drop
 *    spares later ones, so a rollback is never late. A take that itself runs late is refused by its
 *    `notAfter`, dropped by the call that was sent behind it, or, at the latest, when its answer
 *    arrives.
 * 5. Extend. A ticket is held while a majority has it. It is put back where it is missing, once the
 *    majority is certain and as long as nobody released it. So a node that lost its data is whole
 *    again after the next extensions.
 *
 * Requirements: a node that lost its data stays away for one ttl, and clocks run alike within 1 %.
 */
export class QuorumBackend implements Backend {
  readonly clock: Clock;
  readonly hasNoQueue = true;
  readonly #quorum: Quorum;

  get mostPermits(): number {
    return MAX_PERMITS_PER_CALL;
  }

  constructor(
    nodes: readonly QuorumNode[],
    clock: Clock = systemClock,
    settings: QuorumSettings = {},
  ) {
    this.clock = clock;
    this.#quorum = new Quorum(nodes, clock, settings);
  }

  /**
   * Each semaphore by itself: one that needs more rounds must not hold up the others. Below, calls
   * share the lanes of the nodes.
   */
  laneOf(key: SemaphoreKey): string {
    return placeOf(key);
  }

  onHazard(key: SemaphoreKey, listener: HazardListener): () => void {
    return this.#quorum.onHazard(key, listener);
  }

  /** Tickets that nodes without an answer may still hold in vain. */
  get pendingRollbacks(): number {
    return this.#quorum.pendingRollbacks;
  }

  acquire(calls: readonly AcquireCall[]): Promise<readonly AcquireReply[]> {
    return Promise.all(calls.map((call) => this.#acquire(call)));
  }

  async #acquire(call: AcquireCall): Promise<AcquireReply> {
    this.#quorum.rememberTtl(call.ttl);
    const verdicts = new Map<string, AcquireVerdict>();
    if (call.notAfter !== undefined && this.clock.monotonic() > call.notAfter) {
      for (const { id } of call.requests) verdicts.set(id, { kind: 'late' });
    }
    await this.#renewHeld(call, verdicts);
    const { limit } = call;
    for (const { id, permits } of call.requests) {
      if (permits > limit && !verdicts.has(id)) verdicts.set(id, { kind: 'over', limit });
    }
    // What runs already is answered by the call that runs.
    const fresh = call.requests.filter(({ id }) => !verdicts.has(id) && !this.#quorum.open.has(id));
    const otherLimit = await this.#acquireFresh({ ...call, requests: fresh }, verdicts);
    return {
      ...this.#reply(),
      otherLimit,
      askAgainAt: undefined,
      verdicts: call.requests.map(({ id, wait }) => verdicts.get(id) ?? askAgain(wait)),
    };
  }

  /** In batches, while their leases have hardly begun. The caller asks again for what is left. */
  async #acquireFresh(
    call: AcquireCall,
    verdicts: Map<string, AcquireVerdict>,
  ): Promise<number | undefined> {
    const until = this.clock.monotonic() + call.ttl * BATCHES_FRACTION;
    let otherLimit: number | undefined;
    for (const requests of this.#quorum.batches.split(call.requests, ({ permits }) => permits)) {
      const acquisition = new Acquisition(this.#quorum, { ...call, requests });
      try {
        const given = await acquisition.run();
        requests.forEach(({ id }, i) => verdicts.set(id, given[i] ?? { kind: 'late' }));
      } catch (error) {
        // What was granted before must be reported.
        if (verdicts.size === 0) throw error;
        break;
      }
      otherLimit ??= acquisition.otherLimit;
      if (this.clock.monotonic() > until) break;
    }
    return otherLimit;
  }

  extend(calls: readonly ExtendCall[]): Promise<readonly ExtendReply[]> {
    return Promise.all(calls.map((call) => this.#extend(call)));
  }

  async #extend(call: ExtendCall): Promise<ExtendReply> {
    this.#quorum.rememberTtl(call.ttl);
    const extended: boolean[] = [];
    for (const ids of this.#quorum.batches.split(call.ids, permitsOf)) {
      extended.push(...(await new Extension(this.#quorum, { ...call, ids }).run()));
    }
    return { ...this.#reply(), extended };
  }

  release(calls: readonly ReleaseCall[]): Promise<readonly ReleaseReply[]> {
    return Promise.all(calls.map((call) => this.#release(call)));
  }

  async #release(call: ReleaseCall): Promise<ReleaseReply> {
    const held = call.ids.every((id) => this.#quorum.held.get(id) !== undefined);
    for (const id of call.ids) {
      const candidate = this.#quorum.open.get(id);
      if (candidate !== undefined) candidate.cancelled = true;
      this.#quorum.held.release(id);
    }
    const released: boolean[] = [];
    for (const ids of this.#quorum.batches.split(call.ids, permitsOf)) {
      released.push(...(await releaseTickets(this.#quorum, { ...call, ids }, held)));
    }
    return { ...this.#reply(), released };
  }

  inspect(call: InspectCall): Promise<InspectReply> {
    return inspectNodes(this.#quorum, call);
  }

  /** One node in danger endangers no majority yet, but is reported. */
  async findHazard(key: SemaphoreKey): Promise<string | undefined> {
    const { links } = this.#quorum;
    const found = await Promise.all(links.map(async ({ node }) => node.findHazard?.(key)));
    const index = found.findIndex((hazard) => hazard !== undefined);
    return index < 0 ? undefined : `node ${index}: ${found[index]}`;
  }

  isRetryable(error: unknown): boolean {
    return !(error instanceof QuorumError) || this.#quorum.isRetryable(error);
  }

  /** The same ticket again for an id that was granted before. */
  async #renewHeld(call: AcquireCall, verdicts: Map<string, AcquireVerdict>): Promise<void> {
    const { held } = this.#quorum;
    const ids = call.requests.flatMap(({ id }) => (held.get(id) === undefined ? [] : id));
    if (ids.length === 0 || verdicts.size > 0) return;
    const extended = await new Extension(this.#quorum, { ...call, ids }).run();
    ids.forEach((id, i) => {
      const ticket = held.get(id);
      if (extended[i] !== true || ticket === undefined) return;
      const { slots, token } = ticket;
      verdicts.set(id, { kind: 'granted', fencingToken: token, slots });
    });
  }

  /**
   * There is no one server time: a local one takes its place, and the caller compares its own
   * clocks with that.
   */
  #reply() {
    return { serverTime: this.clock.monotonic(), grants: [] };
  }
}

function askAgain(wait: boolean): AcquireVerdict {
  return wait ? { kind: 'queued', arrival: undefined } : { kind: 'late' };
}
