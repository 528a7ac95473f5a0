import type { GrantListener, Listening, SemaphoreKey } from '../../src/backend.js';
import { MemoryBackend } from '../../src/memory/memory-backend.js';
import type { ManualClock } from '../../src/manual-clock.js';

/**
 * What is lost: all data, with or without the connections of those who listen; the keys with the tickets; those with the
 * queue.
 */
export type Loss = 'restarted without data' | 'flushed' | 'tickets deleted' | 'queue deleted';

interface Subscription {
  readonly client: string;
  readonly prefix: string;
  readonly listener: GrantListener;
  listening: Listening;
}

/** What all processes share. Its clock goes on through losses of data, and does not step with the wall clocks of processes. */
export class LossyServer {
  readonly clock: ManualClock;
  readonly #subscriptions = new Set<Subscription>();
  readonly #epoch: number;
  #backend: MemoryBackend;

  constructor(clock: ManualClock) {
    this.clock = clock;
    this.#epoch = clock.wall() - clock.monotonic();
    this.#backend = this.#start();
  }

  /** Valid until the next loss. */
  get backend(): MemoryBackend {
    return this.#backend;
  }

  get subscriptions(): number {
    return this.#subscriptions.size;
  }

  listen(client: string, prefix: string, listener: GrantListener): Listening {
    const listening = this.#backend.listen(client, prefix, listener);
    const subscription: Subscription = { client, prefix, listener, listening };
    this.#subscriptions.add(subscription);
    return {
      close: () => {
        this.#subscriptions.delete(subscription);
        return subscription.listening.close();
      },
    };
  }

  async lose(what: Loss, key: SemaphoreKey, limit: number): Promise<void> {
    // Its numbers are microseconds: they rise over a loss, as those of a server, which is not as fast as this clock.
    await this.clock.advance(1);
    if (what === 'tickets deleted' || what === 'queue deleted') {
      const { holders, waiters } = await this.#backend.inspect({ key, limit });
      const lost = what === 'tickets deleted' ? holders : waiters;
      const ids = lost.map(({ id }) => id);
      await this.#backend.release({ key, limit, client: 'nobody', ids });
      return;
    }
    const restarted = what === 'restarted without data';
    const before = [...this.#subscriptions];
    for (const { listening } of before) await listening.close();
    this.#backend = this.#start();
    for (const one of before) this.#resubscribe(one, restarted);
  }

  #resubscribe(subscription: Subscription, restarted: boolean): void {
    const { client, prefix, listener } = subscription;
    if (restarted) listener.onHealth(false);
    // Who is told may have closed it.
    if (!this.#subscriptions.has(subscription)) return;
    const onHealth = (healthy: boolean): void => {
      if (restarted) listener.onHealth(healthy);
    };
    subscription.listening = this.#backend.listen(client, prefix, {
      onGrants: (grants, name) => listener.onGrants(grants, name),
      onEnded: (ended, name) => listener.onEnded?.(ended, name),
      onHealth,
    });
  }

  #start(): MemoryBackend {
    const { clock } = this;
    return new MemoryBackend({
      clock: {
        wall: () => this.#epoch + clock.monotonic(),
        monotonic: () => clock.monotonic(),
        schedule: (callback, delay) => clock.schedule(callback, delay),
      },
    });
  }
}
