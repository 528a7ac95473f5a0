import type { HolderState, WaiterState } from '../../index.js';
import type { SemaphoreSummary } from '../operator.js';
import type { Step } from '../../sampler/history.js';
import type { TicketTimes } from './ticket-times.js';

export const HOLDER_ORDERS = ['slot', 'age', 'time left', 'label'] as const;
export const NAME_ORDERS = ['name', 'held', 'waiting', 'oldest wait'] as const;

/** A semaphore and what was seen of it. */
export interface Watched {
  /** Holders and waiters only where it was looked at closely. */
  readonly summary: SemaphoreSummary;
  readonly isClose: boolean;
  /** How long the one waits who waits longest, in milliseconds; undefined where nobody does. */
  readonly oldestWait: number | undefined;
  /** Grants per second that were seen. */
  readonly rate: number;
  /** The last 15 minutes, oldest first; only where it was looked at closely. */
  readonly steps: readonly Step[];
  readonly ticketTimes: TicketTimes;
}

/** How far the numbers can be believed. */
export interface Freshness {
  readonly state: 'connecting' | 'connected' | 'not connected' | 'no answer';
  /** Milliseconds since the numbers were read; undefined before the first look. */
  readonly age: number | undefined;
  /** When they were read, as hours, minutes and seconds. */
  readonly clock: string;
}

/** All that a frame shows. */
export interface View {
  /** Without password. */
  readonly server: string;
  /** Milliseconds between two looks. */
  readonly interval: number;
  readonly freshness: Freshness;
  /** The semaphore that is looked at; undefined: all of them. */
  readonly name: string | undefined;
  readonly watched: readonly Watched[];
  /** Only rows that contain it are shown, whatever the case of its letters. */
  readonly filter: string;
  /** Counts on: the order is this one of those there are. */
  readonly order: number;
  /** The row that the cursor is on, of those that `rowsOf` gives. */
  readonly selected: number;
  /** The question that waits for an answer, what is being typed, or what has happened last. */
  readonly message: string | undefined;
  /** Why the last look failed. */
  readonly trouble: string | undefined;
  /** Whether the list of keys is shown instead. */
  readonly help: boolean;
  /** The moment of the numbers, where graphs end: on the wall clock, in milliseconds. */
  readonly now: number;
}

/** What the cursor can be on. */
export type Row =
  | { readonly kind: 'semaphore'; readonly key: string; readonly watched: Watched }
  | { readonly kind: 'holder'; readonly key: string; readonly holder: HolderState }
  | { readonly kind: 'waiter'; readonly key: string; readonly waiter: WaiterState };

/** The rows in their order, those left out that the filter does not let through. */
export function rowsOf(view: View): Row[] {
  const [first] = view.watched;
  if (view.name === undefined) {
    return sortedSemaphores(view)
      .filter(({ summary }) => passes(view, summary.name))
      .map((watched) => ({ kind: 'semaphore', key: watched.summary.name, watched }));
  }
  if (first === undefined) return [];
  const { summary } = first;
  return [
    ...sortedHolders(summary, view)
      .filter(({ label, id }) => passes(view, label, id))
      .map((holder): Row => ({ kind: 'holder', key: holder.id, holder })),
    ...summary.waiters
      .filter(({ label, id }) => passes(view, label, id))
      .map((waiter): Row => ({ kind: 'waiter', key: waiter.id, waiter })),
  ];
}

export function orderName({ name, order }: View): string {
  const orders: readonly string[] = name === undefined ? NAME_ORDERS : HOLDER_ORDERS;
  return orders[order % orders.length] ?? '';
}

function passes({ filter }: View, ...texts: string[]): boolean {
  const part = filter.toLowerCase();
  return texts.some((text) => text.toLowerCase().includes(part));
}

function sortedHolders(summary: SemaphoreSummary, view: View): HolderState[] {
  const by: Record<(typeof HOLDER_ORDERS)[number], (holder: HolderState) => number | string> = {
    slot: ({ slots }) => slots[0] ?? 0,
    age: ({ heldFor }) => -heldFor,
    'time left': ({ expiresIn }) => expiresIn,
    label: ({ label }) => label,
  };
  const key = by[HOLDER_ORDERS[view.order % HOLDER_ORDERS.length] ?? 'slot'];
  return summary.holders.toSorted((a, b) => compare(key(a), key(b)));
}

function sortedSemaphores(view: View): Watched[] {
  const by: Record<(typeof NAME_ORDERS)[number], (watched: Watched) => number | string> = {
    name: ({ summary }) => summary.name,
    held: ({ summary }) => -summary.held,
    waiting: ({ summary }) => -summary.waiting,
    'oldest wait': ({ oldestWait }) => -(oldestWait ?? -1),
  };
  const key = by[NAME_ORDERS[view.order % NAME_ORDERS.length] ?? 'name'];
  // Equal ones by name: the sampler has them in no order, and rows must not change places.
  return view.watched.toSorted(
    (a, b) => compare(key(a), key(b)) || compare(a.summary.name, b.summary.name),
  );
}

function compare(a: number | string, b: number | string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
