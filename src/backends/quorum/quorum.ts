import type { SemaphoreKey } from '../backend.js';
import { type Clock, randomBy } from '../../time/clock.js';
import { QuorumError } from '../../errors.js';
import { placeOf } from '../place-of.js';
import { type Answers, askAll, BatchSize, NodeLink, nodeTimeout, repliedIn } from './asking.js';
import { formatSet, NodeSets, setName } from './node-sets.js';
import type * as port from './quorum-node.js';
import { type Candidate, Tickets } from './tickets.js';
import { Majorities, nodesWhere, sameSlots, Votes } from './votes.js';

/** How often a ticket is put back on a node where another contender is just trying for its slot. */
const MOST_RESTORES = 3;
const RESTORE_PAUSE_MS = 10;

export interface QuorumSettings {
  /** What every process calls the nodes. Left out: their own names. */
  readonly names?: readonly string[];
  /**
   * The lists of which each must be won by a majority, by the places of their nodes. Left out: one
   * list of all.
   */
  readonly lists?: readonly (readonly number[])[];
  /** What happens to acquires while others use the nodes in another set. Default `refuse`. */
  readonly otherSet?: 'refuse' | 'warn';
}

export type HazardListener = (message: string) => void;

/** The nodes together, and what this process knows of them and of its tickets. */
export class Quorum {
  readonly clock: Clock;
  readonly links: readonly NodeLink[];
  readonly majorities: Majorities;
  readonly sets: NodeSets;
  /** The tickets that are being won, by id. */
  readonly open: Map<string, Candidate> = new Map();
  /** The tickets that were won. */
  readonly held: Tickets;
  readonly batches: BatchSize = new BatchSize();
  /** How many tries of tickets there were. */
  attempts = 0;
  /** Each hears of another set once; with its semaphore. */
  readonly #listeners = new Map<HazardListener, string>();
  /** How long a ticket may live on a node that cannot be reached, as far as this process knows. */
  #longestTtl = 0;

  constructor(nodes: readonly port.QuorumNode[], clock: Clock, settings: QuorumSettings) {
    const { lists = [nodes.map((_, place) => place)], otherSet = 'refuse' } = settings;
    const names = settings.names ?? nodes.map(({ name }) => name);
    const isNamed = names.every((name) => name !== undefined);
    const set = setName(lists.map((places) => places.map((place) => names[place] ?? '')));
    this.clock = clock;
    this.majorities = new Majorities(lists);
    this.sets = new NodeSets(isNamed ? { set, otherSet } : undefined, this.majorities);
    this.links = nodes.map((node) => new NodeLink(node, clock, this.sets.originOf(false)));
    this.held = new Tickets(clock);
  }

  /**
   * The nodes' clocks are never compared; this is what a fencing token should at least be, in
   * microseconds.
   */
  wantedToken(): number {
    return Math.ceil(Math.max(...this.links.map(({ time }) => time)) * 1000);
  }

  /** Asks all nodes to hold tickets. Only what they answer now counts as their votes. */
  async hold(
    terms: port.Terms,
    requests: readonly port.HoldRequest[],
    tickets: readonly { votes: Votes }[],
    timeoutMs: number,
    isDecided: (answers: Answers<port.HoldReply>) => boolean,
  ): Promise<Answers<port.HoldReply>> {
    this.#longestTtl = Math.max(this.#longestTtl, terms.ttl);
    for (const each of tickets) each.votes = new Votes(this.majorities, each.votes.permits);
    const answers = await askAll<port.HoldReply>(this, {
      timeoutMs,
      send: this.#holding(terms, requests),
      isDecided: (given, node) => {
        const reply = given.replies[node];
        tickets.forEach(({ votes }, i) => (votes.holdings[node] = reply?.holdings[i]));
        return isDecided(given);
      },
      onLate: (node, reply) => {
        if (reply) this.reconcile(node, terms, requests, reply.holdings);
      },
    });
    const permits = requests.reduce((sum, request) => sum + request.permits, 0);
    this.batches.learn(permits, answers);
    return answers;
  }

  #holding({ key, limit, ttl }: port.Terms, requests: readonly port.HoldRequest[]) {
    const { claim } = this.sets;
    return (node: port.QuorumNode, timing: port.CallTiming) =>
      node.hold({ key, limit, ttl, ...timing, claim, requests });
  }

  /**
   * Compares what one node holds for tickets with what this process knows of them. While a ticket
   * is open, that is a vote; a ticket that is held is put where the node lacks it, in the
   * background; any other is dropped.
   */
  reconcile(
    node: number,
    terms: port.Terms,
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
      } else if (mode !== 'extend') this.rollBack(node, terms.key, id, attempt);
      return false;
    });
    const ids = lacking.map(({ id }) => id);
    if (ids.length > 0 && restores > 0) void this.#restore(node, terms, ids, restores);
  }

  /** Never rejects: what fails is tried again with the next extension. */
  async #restore(
    node: number,
    terms: port.Terms,
    ids: readonly string[],
    restores: number,
  ): Promise<void> {
    if (restores < MOST_RESTORES) {
      const pauseMs = RESTORE_PAUSE_MS * (0.5 + randomBy(this.clock));
      await new Promise<void>((resolve) => this.clock.schedule(resolve, pauseMs, false));
    }
    const requests = ids.flatMap((id) => this.held.requestFor(id, 'restore') ?? []);
    if (requests.length === 0) return;
    const send = this.#holding(terms, requests);
    const reply = await this.links[node]?.call(nodeTimeout(terms.ttl), send).catch(() => undefined);
    if (reply) this.reconcile(node, terms, requests, reply.holdings, restores - 1);
  }

  /** Takes back on one node a ticket, or an attempt that failed. */
  rollBack(node: number, key: SemaphoreKey, id: string, attempt: number): void {
    this.links[node]?.rollBack(key, id, attempt, this.#longestTtl);
  }

  /** Throws unless a majority replied. */
  assertMajority(answers: Answers<unknown>): void {
    if (!this.majorities.reachedBy(repliedIn(answers))) throw this.errorFor(answers);
  }

  /**
   * Whether others use the nodes in another set, and warns of it.
   * @returns the reason not to hold what these answers granted
   */
  findOtherSet(key: SemaphoreKey, { replies }: Answers<port.HoldReply>): QuorumError | undefined {
    const foreign = this.sets.foreignIn(replies);
    if (!foreign.some(Boolean) || this.sets.isProvenIn(replies)) return undefined;
    const own = formatSet(this.sets.claim?.set ?? '');
    const node = foreign.findIndex(Boolean);
    const message = `this process lists the nodes ${own}, but node ${node} is in use by processes that list ${formatSet(foreign[node] ?? '')}`;
    for (const [listener, place] of this.#listeners) {
      if (place === placeOf(key) && this.#listeners.delete(listener)) listener(message);
    }
    if (this.sets.claim?.otherSet === 'warn') return undefined;
    const reasons = foreign.map((set) => set && new Error(`in use as one of ${formatSet(set)}`));
    return new QuorumError(this.majorities.needed, reasons, message);
  }

  /**
   * Whether what was answered so far is enough to know that nobody uses the nodes in another set.
   * `hasWon`: whether that matters.
   */
  isSetSettled({ replies, pending }: Answers<port.HoldReply>, hasWon: boolean): boolean {
    if (this.sets.isProvenIn(replies)) return true;
    if (!hasWon && !this.sets.foreignIn(replies).some(Boolean)) return true;
    return this.links.every(({ isSilent }, node) => isSilent || ((pending >> node) & 1) === 0);
  }

  onHazard(key: SemaphoreKey, listener: HazardListener): () => void {
    this.#listeners.set(listener, placeOf(key));
    return () => void this.#listeners.delete(listener);
  }

  errorFor({ errors }: Answers<unknown>): QuorumError {
    return new QuorumError(this.majorities.needed, errors);
  }

  /** Whether a majority may yet be had when those nodes are asked again that failed. */
  isRetryable({ reasons }: QuorumError): boolean {
    const final = nodesWhere(reasons, (reason, place) => {
      return reason !== undefined && this.links[place]?.node.isRetryable(reason) === false;
    });
    return this.majorities.possibleWithout(final);
  }
}
