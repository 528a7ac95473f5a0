import type { SemaphoreKey } from '../backend.js';
import { placeOf } from '../place-of.js';
import type { Majorities } from './majorities.js';
import { nodesWhere } from './majorities.js';
import type { DropCall, RecordedSet, SetClaim } from './quorum-node.js';
import { haveCommonList, couldBeAliases, formatSet } from './set-name.js';

/** How many semaphores whose claim is not simply the own set are remembered. */
const MAX_REMEMBERED_CLAIMS = 1000;

/** The sets that each node reported; undefined where one did not reply. */
export type ReportedSets = readonly (readonly RecordedSet[] | undefined)[];

export type SetVerdict =
  | { readonly kind: 'same' }
  /** The way is free, but nothing has recorded what was granted: to be tried again. */
  | { readonly kind: 'unrecorded' }
  | { readonly kind: 'other'; readonly foreign: readonly (readonly string[])[] };

/**
 * Whether others use the nodes of this process in another set. Majorities of two lists need not
 * have a node in common: a process that lists [a, b, c] and one that lists [a, b, d] could hold one
 * slot at a time. Each node records, for one ttl, the sets of the processes that it grants to, and
 * reports them with every reply:
 *
 * 1. A process that finds, on a majority, that a ticket was held in its own set continues. A
 *    process with another set does not find that for its own. It has to hear all nodes, and so
 *    hears of this one.
 * 2. Else all nodes are waited for, as long as a call may take. A process that then hears of no
 *    other set begins one.
 * 3. A set of other names on all nodes that answered is the same set, seen through other addresses:
 *    its name is taken over where all have answered. Names are only what processes happen to call
 *    nodes; being recorded on the same nodes proves that they mean the same.
 * 4. Anything else is a foreign set, and nothing may be held. The process gives back what it won,
 *    and its record with it, and only looks until no foreign set is left: it does not disturb the
 *    processes that were there first.
 */
export class NodeSets {
  readonly #own: string | undefined;
  readonly #majorities: Majorities;
  /** What is claimed, by semaphore, where it is not simply the own set. */
  readonly #claims = new Map<string, SetClaim>();

  /** `own`: undefined where nodes have no names, and nothing can be compared. */
  constructor(own: string | undefined, majorities: Majorities) {
    this.#own = own;
    this.#majorities = majorities;
  }

  claimFor(key: SemaphoreKey): SetClaim | undefined {
    if (this.#own === undefined) return undefined;
    return this.#claims.get(placeOf(key)) ?? { set: this.#own, record: 'unless-foreign' };
  }

  /** For tickets that are held already: recorded where no foreign set is. */
  claimOfHolder(key: SemaphoreKey): SetClaim | undefined {
    const claim = this.claimFor(key);
    return claim?.record === 'never' ? { ...claim, record: 'unless-foreign' } : claim;
  }

  /** What goes with tickets that are given back. */
  originOf(key: SemaphoreKey, held: boolean): DropCall['origin'] {
    const claim = this.claimFor(key);
    return claim && { set: claim.set, held };
  }

  /**
   * Whether what these nodes reported is enough, whatever the others would. `won`: for a caller
   * that has won a ticket.
   */
  isSettled(key: SemaphoreKey, reported: ReportedSets, won: boolean): boolean {
    const claim = this.claimFor(key);
    if (claim === undefined || this.#isProven(claim.set, reported)) return true;
    return !won && reported.every((sets) => foreignIn(sets ?? [], claim.set).length === 0);
  }

  /** What follows from what some nodes reported, when the others did not answer. */
  judge(key: SemaphoreKey, reported: ReportedSets): SetVerdict {
    const claim = this.claimFor(key);
    if (claim === undefined) return { kind: 'same' };
    const foreign = reported.map((sets) => foreignIn(sets ?? [], claim.set));
    const names = new Set(foreign.flat());
    const recorded = claim.record !== 'never' || this.#isProven(claim.set, reported);
    if (names.size === 0) {
      if (claim.set === this.#own) this.#claims.delete(placeOf(key));
      return { kind: recorded ? 'same' : 'unrecorded' };
    }
    if (this.#isProven(claim.set, reported)) {
      this.#remember(key, { set: claim.set, record: 'instead' });
      return { kind: 'same' };
    }
    const aliases = [...names].every((name) => this.#isAlias(name, claim.set, reported));
    const [alias] = names;
    if (aliases && alias !== undefined) {
      const complete = reported.every((sets) => sets !== undefined);
      if (complete) this.#remember(key, { set: alias, record: 'unless-foreign' });
      return { kind: 'same' };
    }
    this.#remember(key, { set: this.#own ?? claim.set, record: 'never' });
    return { kind: 'other', foreign };
  }

  /** A message with both sets. */
  describe(foreign: readonly (readonly string[])[]): string {
    const node = foreign.findIndex((sets) => sets.length > 0);
    const other = formatSet(foreign[node]?.[0] ?? '');
    return `this process lists the nodes ${formatSet(this.#own ?? '')}, but node ${node} is in use by processes that list ${other}`;
  }

  /** On a majority, by a process that has held a ticket. */
  #isProven(set: string, reported: ReportedSets): boolean {
    return this.#majorities.reachedBy(
      nodesWhere(reported, (sets) => sets?.some((one) => one.proven && one.set === set) === true),
    );
  }

  #isAlias(other: string, mine: string, reported: ReportedSets): boolean {
    const having = nodesWhere(reported, (sets) => sets?.some(({ set }) => set === other) === true);
    const answered = nodesWhere(reported, (sets) => sets !== undefined);
    return having === answered && this.#majorities.reachedBy(having) && couldBeAliases(other, mine);
  }

  #remember(key: SemaphoreKey, claim: SetClaim): void {
    const place = placeOf(key);
    this.#claims.delete(place);
    this.#claims.set(place, claim);
    const [oldest] = this.#claims.keys();
    if (this.#claims.size > MAX_REMEMBERED_CLAIMS && oldest !== undefined)
      this.#claims.delete(oldest);
  }
}

function foreignIn(sets: readonly RecordedSet[], mine: string): string[] {
  return sets.flatMap(({ set }) => (haveCommonList(set, mine) ? [] : set));
}
