import type { HolderState } from '../../index.js';
import type { SemaphoreSummary } from '../operator.js';
import type { History } from './history.js';

export const HOLDER_ORDERS = ['slot', 'age', 'time left', 'label'] as const;
export const NAME_ORDERS = ['name', 'held', 'waiting'] as const;

/** A semaphore and what was seen of it. */
export interface Watched {
  readonly summary: SemaphoreSummary;
  readonly history: History;
}

/** All that a frame shows. */
export interface View {
  /** The semaphore that is looked at; undefined: all of them. */
  readonly name: string | undefined;
  readonly watched: readonly Watched[];
  /** Counts on: the order is this one of those there are. */
  readonly order: number;
  /** The row that the cursor is on. */
  readonly selected: number;
  /** The question that waits for y or n, or what has happened last. */
  readonly message: string | undefined;
  /** Why the last look failed. */
  readonly trouble: string | undefined;
  /** Monotonic, in milliseconds. */
  readonly now: number;
}

export function orderName({ name, order }: View): string {
  const orders: readonly string[] = name === undefined ? NAME_ORDERS : HOLDER_ORDERS;
  return orders[order % orders.length] ?? '';
}

export function sortedHolders(summary: SemaphoreSummary, view: View): HolderState[] {
  const by: Record<(typeof HOLDER_ORDERS)[number], (holder: HolderState) => number | string> = {
    slot: ({ slots }) => slots[0] ?? 0,
    age: ({ heldFor }) => -heldFor,
    'time left': ({ expiresIn }) => expiresIn,
    label: ({ label }) => label,
  };
  const key = by[HOLDER_ORDERS[view.order % HOLDER_ORDERS.length] ?? 'slot'];
  return summary.holders.toSorted((a, b) => compare(key(a), key(b)));
}

export function sortedSemaphores(view: View): Watched[] {
  const by: Record<(typeof NAME_ORDERS)[number], (watched: Watched) => number | string> = {
    name: ({ summary }) => summary.name,
    held: ({ summary }) => -summary.held,
    waiting: ({ summary }) => -summary.waiting,
  };
  const key = by[NAME_ORDERS[view.order % NAME_ORDERS.length] ?? 'name'];
  return view.watched.toSorted((a, b) => compare(key(a), key(b)));
}

function compare(a: number | string, b: number | string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
