import type { RedisTarget } from '../index.js';
import type { ServerSettings } from './common-options.js';

/** A connected client. */
export interface Server {
  /** What a `Semaphore` is made on. */
  readonly target: RedisTarget;
  /** Whether the client has a connection now, as far as it says. */
  connected(): boolean;
  /** Ends all connections at once; never throws. */
  disconnect(): void;
}

/**
 * A client that is being made. `ready` says whether it was connected once: from then on it
 * reconnects by itself.
 */
export interface Pending {
  readonly settings: ServerSettings;
  readonly ready: () => boolean;
  /** Called with every error, because a failed `connect` does not always name the cause. */
  readonly onError: (error: unknown) => void;
}

/** How this program sees a client package. */
export interface ClientAdapter {
  /** Makes a client without connecting it. */
  create(pending: Pending): { readonly server: Server; connect(): Promise<unknown> };
}

/** Pause before the next attempt to reconnect, in milliseconds. */
export function reconnectDelay(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt, 10), 2000);
}
