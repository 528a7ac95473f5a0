import type { SemaphoreKey } from '../backend.js';
import { type Clock, randomBy, systemClock } from '../../time/clock.js';
import { QuorumError } from '../../errors.js';
import { mapKeyOf } from '../map-key.js';
import { type Answers, askAll, BatchSize, NodeLink, nodeTimeout, repliedIn } from './asking.js';
import * as sets from './foreign-sets.js';
import type * as port from './quorum-node.js';
import { type Candidate, Tickets } from './tickets.js';
import { Majorities, nodesWhere, sameSlots, Votes } from './votes.js';

/** How often a ticket is restored on a node on which another contender tries for its slot. */
const MOST_RESTORES = 3;
const RESTORE_PAUSE_MS = 10;

export interface QuorumSettings {
  /** The names that every process gives to the nodes. Left out: the names of the nodes. */
  readonly names?: readonly string[];
  /**
   * The indexes of the nodes of each list; a ticket needs a majority of each. Left out: one list of
   * all nodes.
   */
  readonly lists?: readonly (readonly number[])[] | undefined;
  /** Whether acquires fail while other processes use the nodes in another set. Default `refuse`. */
  readonly otherSet?: 'refuse' | 'warn';
}

export type HazardListener = (message: string) => void;

/** The nodes, and the tickets of this process on them. */
export class Quorum {
  readonly clock: Clock;
  readonly links: readonly NodeLink[];
  readonly majorities: Majorities;
  /** Undefined if the nodes have no names, so that no sets can be compared. */
  readonly claim: port.SetClaim | undefined;
  /** The requests that try to win a majority and were not released meanwhile, by id. */
  readonly open: Map<string, Candidate> = new Map();
  readonly held: Tickets;
  readonly batches: BatchSize = new BatchSize();
  /** The number of the last attempt. */
  attempts = 0;
  /** Each listener gets the first message about its semaphore. */
  readonly #listeners = new Map<HazardListener, string>();

  constructor(
    nodes: readonly port.QuorumNode[],
    clock: Clock = systemClock,
    settings: QuorumSettings = {},
  ) {
    const { lists = [[...nodes.keys()]], otherSet = 'refuse' } = settings;
    const names = settings.names ?? nodes.map(({ name }) => name);
    const isNamed = names.every((name) => name !== undefined);
    const set = sets.setName(lists.map((list) => list.map((node) => names[node] ?? '')));
    this.clock = clock;
    this.majorities = new Majorities(lists);
    this.claim = isNamed ? { set, otherSet } : undefined;
    this.links = nodes.map((node) => new NodeLink(node, clock));
    this.held = new Tickets(clock);
  }

  /** The lowest token that a take should name, in microseconds: above the clocks of all nodes. */
  wantedToken(): number {
    return Math.ceil(Math.max(...this.links.map(({ time }) => time)) * 1000);
  }

  /** The origin that goes with released tickets. */
  originOf(held: boolean): port.DropCall['origin'] {
    return this.claim && { set: this.claim.set, held };
  }

  /** Asks all nodes to hold tickets. Only the answers to this call count as votes. */
  async hold(
    subject: port.Subject,
    requests: readonly port.HoldRequest[],
    tickets: readonly { votes: Votes }[],
    timeoutMs: number,
    isDecided: (answers: Answers<port.HoldReply>) => boolean,
  ): Promise<Answers<port.HoldReply>> {
    for (const each of tickets) each.votes = new Votes(this.majorities, each.votes.permits);
    const answers = await askAll<port.HoldReply>(this, {
      timeoutMs,
      ask: (link) => link.hold(this.#callFor(subject, requests), timeoutMs),
      isDecided: (given, node) => {
        const reply = given.replies[node];
        tickets.forEach(({ votes }, i) => (votes.holdings[node] = reply?.holdings[i]));
        return isDecided(given);
      },
      onLate: (node, { holdings }) => this.reconcile(node, subject, requests, holdings),
    });
    const permits = requests.reduce((sum, request) => sum + request.permits, 0);
    this.batches.learn(permits, answers);
    return answers;
  }

  #callFor({ key, limit, ttl }: port.Subject, requests: readonly port.HoldRequest[]) {
    return { key, limit, ttl, claim: this.claim, requests };
  }

  /**
   * Compares the holdings of a node with the tickets of this process. A holding of an open ticket
   * is a vote. A held ticket that the node lacks is restored there, in the background. The node
   * drops any other ticket.
   */
  reconcile(
    node: number,
    subject: port.Subject,
    requests: readonly port.HoldRequest[],
    holdings: readonly (port.Holding | undefined)[],
    restores: number = MOST_RESTORES,
  ): void {
    const lacking = requests.filter(({ id, mode, attempt }, i) => {
      const [holding, candidate, ticket] = [holdings[i], this.open.get(id), this.held.get(id)];
      // A node that refuses a ticket has given its slots to a contender.
      if (holding === undefined)
        return ticket !== undefined && (mode === 'extend' || mode === 'restore');
      if (candidate?.progress === 'open' && candidate.attempt === attempt) {
        candidate.votes.holdings[node] = holding;
      } else if (ticket !== undefined) {
        return holding.token !== ticket.token || !sameSlots(holding.slots, ticket.slots);
      } else if (mode !== 'extend') this.rollBack(node, subject.key, id, attempt);
      return false;
    });
    const ids = lacking.map(({ id }) => id);
    if (ids.length > 0 && restores > 0) void this.#restore(node, subject, ids, restores);
  }

  /** Never rejects: the next extension tries again. */
  async #restore(
    node: number,
    subject: port.Subject,
    ids: readonly string[],
    restores: number,
  ): Promise<void> {
    if (restores < MOST_RESTORES) {
      const pauseMs = RESTORE_PAUSE_MS * (0.5 + randomBy(this.clock));
      await new Promise<void>((resolve) => this.clock.schedule(resolve, pauseMs, false));
    }
    const requests = ids.flatMap((id) => this.held.requestFor(id) ?? []);
    if (requests.length === 0) return;
    const reply = await this.links[node]
      ?.hold(this.#callFor(subject, requests), nodeTimeout(subject.ttl))
      .catch(() => undefined);
    if (reply) this.reconcile(node, subject, requests, reply.holdings, restores - 1);
  }

  /** Drops on a node an attempt that failed. */
  rollBack(node: number, key: SemaphoreKey, id: string, attempt: number): void {
    const call = { key, origin: this.originOf(false), tickets: [{ id, attempt }] };
    this.links[node]?.drop(call).catch(() => undefined);
  }

  /** Throws unless a majority replied. */
  assertMajority(answers: Answers<unknown>): void {
    if (!this.majorities.reachedBy(repliedIn(answers))) throw this.errorFor(answers);
  }

  /**
   * Whether other processes use the nodes in another set; warns of it.
   * @returns the reason not to keep the slots that these answers granted
   */
  findOtherSet(key: SemaphoreKey, { replies }: Answers<port.HoldReply>): QuorumError | undefined {
    const foreign = sets.foreignIn(replies, this.claim);
    if (!foreign.some(Boolean) || this.#isProvenIn(replies)) return undefined;
    const own = sets.formatSet(this.claim?.set ?? '');
    const node = foreign.findIndex(Boolean);
    const message = `this process lists the nodes ${own}, but node ${node} is in use by processes that list ${sets.formatSet(foreign[node] ?? '')}`;
    for (const [listener, semaphore] of this.#listeners) {
      if (semaphore === mapKeyOf(key) && this.#listeners.delete(listener)) listener(message);
    }
    if (this.claim?.otherSet === 'warn') return undefined;
    const reasons = foreign.map(
      (set) => set && new Error(`in use as one of ${sets.formatSet(set)}`),
    );
    return new QuorumError(this.majorities.needed, reasons, message);
  }

  /**
   * Whether the answers so far prove that no process uses the nodes in another set. `hasWon`:
   * without a winner no proof is needed.
   */
  isSetSettled({ replies, pending }: Answers<port.HoldReply>, hasWon: boolean): boolean {
    if (this.#isProvenIn(replies)) return true;
    if (!hasWon && !sets.foreignIn(replies, this.claim).some(Boolean)) return true;
    return this.links.every(({ isSilent }, node) => isSilent || ((pending >> node) & 1) === 0);
  }

  /** Whether a majority reports that a ticket was held in this set; true without a set. */
  #isProvenIn(replies: sets.Replies): boolean {
    const { claim, majorities } = this;
    return claim === undefined || majorities.reachedBy(sets.provenIn(replies, claim));
  }

  onHazard(key: SemaphoreKey, listener: HazardListener): () => void {
    this.#listeners.set(listener, mapKeyOf(key));
    return () => void this.#listeners.delete(listener);
  }

  /** The errors of some nodes may decide before other nodes have answered. */
  errorFor({ errors, pending }: Answers<unknown>): QuorumError {
    const silent = new Error('no reply yet');
    const reasons = errors.map((e, node) => e ?? ((pending >> node) & 1 ? silent : undefined));
    return new QuorumError(this.majorities.needed, reasons);
  }

  /** Whether a majority may answer when the nodes that failed are asked again. */
  isRetryable(error: unknown): boolean {
    if (!(error instanceof QuorumError)) return true;
    const final = nodesWhere(error.reasons, (reason, node) => {
      return reason !== undefined && this.links[node]?.node.isRetryable(reason) === false;
    });
    return this.majorities.possibleWithout(final);
  }
}
