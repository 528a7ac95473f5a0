import type { KeptSemaphore, KeptTicket } from '../backends/lease-keeper.js';

/** `place`: of the lease in the shared memory. */
export interface KeepOrder {
  readonly do: 'keep';
  readonly place: number;
  readonly semaphore: KeptSemaphore;
  readonly ticket: KeptTicket;
}

/** From the thread of the holders to that of the keeper, in the order in which they were made. */
export type Order =
  | KeepOrder
  | { readonly do: 'extend'; readonly place: number; readonly number: number }
  | { readonly do: 'stop'; readonly place: number };

/** From the thread of the keeper to that of the holders. */
export type Notice =
  /** Why renewals fail. Undefined: they work again. */
  | { readonly what: 'trouble'; readonly text: string | undefined }
  | { readonly what: 'extended'; readonly number: number; readonly done: boolean }
  /** The keeper's thread writes no more about the lease in this place. */
  | { readonly what: 'free'; readonly place: number };

/** Sends what one turn gives together, in order and before any caller that awaits continues. */
export function together<Item>(send: (items: readonly Item[]) => void): (item: Item) => void {
  const gathered: Item[] = [];
  return (item) => {
    if (gathered.push(item) > 1) return;
    queueMicrotask(() => send(gathered.splice(0)));
  };
}
