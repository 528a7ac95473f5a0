import type { SemaphoreKey } from '../backend.js';
import type { Majorities } from './majorities.js';
import { nodesWhere } from './majorities.js';
import type { DropCall, RecordedSet, SetClaim } from './quorum-node.js';
import { areFriends, couldBeAliases, shownSet } from './set-name.js';

/** Of how many semaphores it is remembered that what is claimed is not simply the own set. */
const MOST_REMEMBERED = 1000;

/** The sets that each node told; undefined for one that did not reply. */
export type Told = readonly (readonly RecordedSet[] | undefined)[];

export type SetVerdict =
  | { readonly kind: 'same' }
  /** The way is free, but nothing has recorded what was granted: to be tried again. */
  | { readonly kind: 'unrecorded' }
  | { readonly kind: 'other'; readonly strangers: readonly (readonly string[])[] };

/**
 * Whether others use the nodes of this process in the same set. Majorities of two lists need not have a node in common, so who
 * lists [a, b, c] and who lists [a, b, d] could hold one slot at a time. Each node records, for one ttl, the set of those that
 * it grants to, and tells it with every reply:
 *
 * 1. Who finds on a majority that a ticket was held in its own set goes on. Whoever comes with another set does not find that
 *    for its own, and so has to hear all nodes, and hears of this one.
 * 2. Else all nodes are waited for, as long as a call may take. Who then hears of no other set begins one.
 * 3. A set of other names that is on all nodes that answered is the same set, seen through other addresses: its name is taken
 *    over where all have answered. Names are only what processes happen to call nodes; being recorded on the same nodes proves it.
 * 4. Anything else is another set, and nothing may be held. Who found that gives back what it won and its record with it, and
 *    only looks, until no stranger is left: those who were there first are not disturbed.
 */
export class NodeSets {
  readonly #own: string | undefined;
  readonly #majorities: Majorities;
  /** What is claimed, by semaphore, where it is not simply the own set. */
  readonly #claims = new Map<string, SetClaim>();

  /** `own`: undefined where nodes have no names, and nothing can be told. */
  constructor(own: string | undefined, majorities: Majorities) {
    this.#own = own;
    this.#majorities = majorities;
  }

  get own(): string | undefined {
    return this.#own;
  }

  claimFor(key: SemaphoreKey): SetClaim | undefined {
    if (this.#own === undefined) return undefined;
    return this.#claims.get(placeOf(key)) ?? { set: this.#own, record: 'unless-strangers' };
  }

  /** With what is held already: it is recorded where nobody else is. */
  claimOfHolder(key: SemaphoreKey): SetClaim | undefined {
    const claim = this.claimFor(key);
    return claim?.record === 'never' ? { ...claim, record: 'unless-strangers' } : claim;
  }

  /** What is said with tickets that are given back. */
  originOf(key: SemaphoreKey, held: boolean): DropCall['origin'] {
    const claim = this.claimFor(key);
    return claim && { set: claim.set, held };
  }

  /** Whether what these nodes told is enough, whatever the others would tell: for one who has won, or only for one who has not. */
  isSettled(key: SemaphoreKey, told: Told, won: boolean): boolean {
    const claim = this.claimFor(key);
    if (claim === undefined || this.#isProven(claim.set, told)) return true;
    return !won && told.every((sets) => strangersIn(sets ?? [], claim.set).length === 0);
  }

  /** What it says that some nodes told this, and the others did not answer. */
  judge(key: SemaphoreKey, told: Told): SetVerdict {
    const claim = this.claimFor(key);
    if (claim === undefined) return { kind: 'same' };
    const strangers = told.map((sets) => strangersIn(sets ?? [], claim.set));
    const names = new Set(strangers.flat());
    const recorded = claim.record !== 'never' || this.#isProven(claim.set, told);
    if (names.size === 0) {
      if (claim.set === this.#own) this.#claims.delete(placeOf(key));
      return { kind: recorded ? 'same' : 'unrecorded' };
    }
    if (this.#isProven(claim.set, told)) {
      this.#remember(key, { set: claim.set, record: 'instead' });
      return { kind: 'same' };
    }
    const aliases = [...names].every((name) => this.#isAlias(name, claim.set, told));
    const [alias] = names;
    if (aliases && alias !== undefined) {
      const complete = told.every((sets) => sets !== undefined);
      if (complete) this.#remember(key, { set: alias, record: 'unless-strangers' });
      return { kind: 'same' };
    }
    this.#remember(key, { set: this.#own ?? claim.set, record: 'never' });
    return { kind: 'other', strangers };
  }

  /** What to tell people, naming both sets. */
  describe(strangers: readonly (readonly string[])[]): string {
    const node = strangers.findIndex((sets) => sets.length > 0);
    const other = shownSet(strangers[node]?.[0] ?? '');
    return `this process lists the nodes ${shownSet(this.#own ?? '')}, but node ${node} is in use by processes that list ${other}`;
  }

  /** On a majority, by somebody who has held a ticket. */
  #isProven(set: string, told: Told): boolean {
    return this.#majorities.reachedBy(
      nodesWhere(told, (sets) => sets?.some((one) => one.proven && one.set === set) === true),
    );
  }

  #isAlias(other: string, mine: string, told: Told): boolean {
    const having = nodesWhere(told, (sets) => sets?.some(({ set }) => set === other) === true);
    const answered = nodesWhere(told, (sets) => sets !== undefined);
    return having === answered && this.#majorities.reachedBy(having) && couldBeAliases(other, mine);
  }

  #remember(key: SemaphoreKey, claim: SetClaim): void {
    const place = placeOf(key);
    this.#claims.delete(place);
    this.#claims.set(place, claim);
    const [oldest] = this.#claims.keys();
    if (this.#claims.size > MOST_REMEMBERED && oldest !== undefined) this.#claims.delete(oldest);
  }
}

function strangersIn(sets: readonly RecordedSet[], mine: string): string[] {
  return sets.flatMap(({ set }) => (areFriends(set, mine) ? [] : set));
}

function placeOf({ prefix, name }: SemaphoreKey): string {
  return JSON.stringify([prefix, name]);
}
