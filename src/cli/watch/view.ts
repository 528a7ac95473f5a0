import type { HolderState, WaiterState } from '../../index.js';
import type { Seen, TicketTimes, Watched } from './seen.js';

/** All that a frame shows. */
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
  /** Only rows that contain it are shown, whatever the case of its letters. */
  readonly filter: string;
  /** Counts on: the order is this one of those there are. */
  readonly order: number;
  /** The row under the cursor, by its index among `rowsOf`. */
  readonly selected: number;
  /** The question that waits for an answer, the text being typed, or what has happened last. */
  readonly message: string | undefined;
  /** Whether the list of keys is shown instead. */
  readonly help: boolean;
  readonly ticketTimes: TicketTimes;
}

/** A row that the cursor can be on: a semaphore of the list, or a ticket or request of one. */
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

/** The rows that the filter lets through, in their order. */
export function rowsOf({ name, watched, filter, order }: View): Row[] {
  const passes = (...texts: string[]): boolean =>
    texts.some((text) => text.toLowerCase().includes(filter.toLowerCase()));
  if (name === undefined) {
    // The sampler has no order, and rows that are equal must not change places.
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
