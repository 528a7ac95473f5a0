import type { HolderState, WaiterState } from '../../index.js';
import type { HistoryPoint } from '../../sampler/history.js';
import type { Sampler } from '../../sampler/sampler.js';
import type { WatchedSemaphore } from '../../sampler/watched-semaphore.js';
import type { SemaphoreSummary } from '../operator.js';
import { unreadable } from '../status-table.js';

/** The parts of a sampler that `redsem watch` reads. */
export type Looks = Pick<
  Sampler,
  'semaphores' | 'semaphore' | 'history' | 'rate' | 'watch' | 'reachable' | 'lastOkAt' | 'trouble'
>;

/** A semaphore as the last look found it; holders and waiters only after a close look. */
export interface Watched extends SemaphoreSummary {
  readonly isClose: boolean;
  /** The longest wait, in milliseconds; undefined if no request waits. */
  readonly oldestWait: number | undefined;
  readonly grantsPerSecond: number;
  /** The last 15 minutes, oldest first; only after a close look. */
  readonly steps: readonly HistoryPoint[];
}

/** The result of the looks at a semaphore, or at all semaphores. */
export interface Seen {
  readonly watched: readonly Watched[];
  /** On the wall clock; undefined before the first look. */
  readonly seenAt: number | undefined;
  /** Whether the last look failed, so that the numbers are old. */
  readonly failed: boolean;
  /** Why the last look failed, or which semaphores cannot be read. */
  readonly trouble: string | undefined;
}

export function seenOf(looks: Looks, name: string | undefined): Seen {
  const { lastOkAt: seenAt, reachable, trouble } = looks;
  const all = name === undefined ? looks.semaphores : [looks.semaphore(name) ?? []].flat();
  const watched = all.flatMap((each) => (each.error === undefined ? watchedOf(looks, each) : []));
  const failed = seenAt !== undefined && !reachable;
  const damaged = all.flatMap(({ name: its, error }) =>
    error === undefined ? [] : `${JSON.stringify(its)} ${unreadable({ name: its, error })}`,
  );
  // A known name needs no list of names.
  const ofList = name === undefined && trouble !== undefined ? [trouble] : [];
  const troubles = [...ofList, ...damaged].join('; ');
  return { watched, seenAt, failed, trouble: failed ? trouble : troubles || undefined };
}

function watchedOf(looks: Looks, semaphore: WatchedSemaphore): Watched {
  const { name, detail, summary } = semaphore;
  const { holders = [], waiters = [] } = detail ?? {};
  return {
    ...summary,
    name,
    limit: summary.limit ?? null,
    holders,
    waiters,
    isClose: detail !== undefined,
    grantsPerSecond: looks.rate(semaphore) ?? 0,
    // A long list shows no steps.
    steps: detail === undefined ? [] : looks.history(name),
  };
}

/** Remembers the time left of tickets, to find the tickets that are no longer extended. */
export class TicketTimes {
  /** By ticket id: the longest time left in any look, in milliseconds. */
  #longest: ReadonlyMap<string, number> = new Map();

  see(holders: readonly HolderState[]): void {
    const before = this.#longest;
    this.#longest = new Map(
      holders.map(({ id, expiresIn }) => [id, Math.max(expiresIn, before.get(id) ?? 0)]),
    );
  }

  /** Whether a ticket has less than a quarter of the time left that it had before. */
  expiresSoon({ id, expiresIn }: HolderState): boolean {
    return expiresIn < (this.#longest.get(id) ?? 0) / 4;
  }
}

/** The content of a frame. */
export interface View extends Seen {
  /** Without password. */
  readonly server: string;
  /** Milliseconds between two looks. */
  readonly interval: number;
  /** Whether the client has a connection now. */
  readonly connected: boolean;
  /** On the wall clock, in milliseconds. */
  readonly now: number;
  /** The semaphore that is open; undefined: all of them are listed. */
  readonly name: string | undefined;
  /** The frame shows only rows that contain it, whatever the case of its letters. */
  readonly filter: string;
  /** The number of the order; it counts on, modulo the number of orders. */
  readonly order: number;
  /** The row under the cursor, by its index among `rowsOf`. */
  readonly selected: number;
  /** The question, the typed text, or the message about the last change. */
  readonly message: string | undefined;
  /** Whether the frame shows the list of keys instead. */
  readonly help: boolean;
  readonly ticketTimes: TicketTimes;
}

/** A row that can have the cursor: a semaphore of the list, a ticket or a request. */
export interface Row {
  readonly key: string;
  readonly watched?: Watched;
  readonly holder?: HolderState;
  readonly waiter?: WaiterState;
}

type Order<T> = readonly [name: string, key: (item: T) => number | string];
type Orders<T> = readonly [Order<T>, ...Order<T>[]];

const HOLDER_ORDERS: Orders<HolderState> = [
  ['slot', ({ slots }) => slots[0] ?? 0],
  ['age', ({ heldFor }) => -heldFor],
  ['time left', ({ expiresIn }) => expiresIn],
  ['label', ({ label }) => label],
];
const BY_NAME: Order<Watched> = ['name', ({ name }) => name];
const NAME_ORDERS: Orders<Watched> = [
  BY_NAME,
  ['held', ({ held }) => -held],
  ['waiting', ({ waiting }) => -waiting],
  ['oldest wait', ({ oldestWait }) => -(oldestWait ?? -1)],
];

/** The rows that pass the filter, in their order. */
export function rowsOf({ name, watched, filter, order }: View): Row[] {
  const passes = (...texts: string[]): boolean =>
    texts.some((text) => text.toLowerCase().includes(filter.toLowerCase()));
  if (name === undefined) {
    // The sampler has no order, and equal rows must keep their positions.
    return sorted(sorted(watched, BY_NAME), orderOf(NAME_ORDERS, order))
      .filter((each) => passes(each.name))
      .map((each) => ({ key: each.name, watched: each }));
  }
  const { holders = [], waiters = [] } = watched[0] ?? {};
  const rows: Row[] = [
    ...sorted(holders, orderOf(HOLDER_ORDERS, order)).map((holder) => ({ key: holder.id, holder })),
    ...waiters.map((waiter) => ({ key: waiter.id, waiter })),
  ];
  return rows.filter(({ key, holder, waiter }) => passes(key, (holder ?? waiter)?.label ?? ''));
}

export function orderName({ name, order }: View): string {
  return name === undefined ? orderOf(NAME_ORDERS, order)[0] : orderOf(HOLDER_ORDERS, order)[0];
}

function orderOf<T>(orders: Orders<T>, order: number): Order<T> {
  return orders[order % orders.length] ?? orders[0];
}

function sorted<T>(items: readonly T[], [, key]: Order<T>): T[] {
  return items.toSorted((a, b) => {
    if (key(a) === key(b)) return 0;
    return key(a) < key(b) ? -1 : 1;
  });
}
