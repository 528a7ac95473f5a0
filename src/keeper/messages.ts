import type { KeptSemaphore, KeptTicket } from '../backends/lease-keeper.js';

/** `index`: of the lease in the shared memory. */
export interface KeepOrder {
  readonly do: 'keep';
  readonly index: number;
  readonly semaphore: KeptSemaphore;
  readonly ticket: KeptTicket;
}

/** From the holders' thread to the keeper's thread, in the order in which they were made. */
export type Order =
  | KeepOrder
  | { readonly do: 'extend'; readonly index: number; readonly number: number }
  | { readonly do: 'stop'; readonly index: number };

/** From the keeper's thread to the holders' thread. */
export type Notice =
  /** The reason why renewals fail; undefined: they work again. */
  | { readonly what: 'trouble'; readonly text: string | undefined }
  | { readonly what: 'extended'; readonly number: number; readonly done: boolean }
  /** The keeper's thread writes no more about the lease with this index. */
  | { readonly what: 'free'; readonly index: number };

/** Sends the items of a turn together, in order, and before a caller that awaits continues. */
export function together<Item>(send: (items: readonly Item[]) => void): (item: Item) => void {
  const gathered: Item[] = [];
  return (item) => {
    if (gathered.push(item) > 1) return;
    queueMicrotask(() => send(gathered.splice(0)));
  };
}
