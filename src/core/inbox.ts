import type { GrantListener, Listening } from '../backends/backend.js';
import { Wakeup } from '../time/shared-timer.js';
import type { Client } from './client.js';
import type { Permit } from './semaphore-link.js';
import type { Waiters } from './waiters.js';

/**
 * How long a subscription outlives its last waiter, in milliseconds, so that the next one need not
 * open another.
 */
const LINGER_MS = 10_000;

/** The same while it is connecting, which may keep the process alive. */
const CONNECTING_LINGER_MS = 1000;

/**
 * Between a subscription that was refused and the next one, in milliseconds. Waiters poll
 * meanwhile, so this may be long: a user without the right to subscribe must cost the server
 * little.
 */
const RESUBSCRIBE_DELAY_MS = 5000;

/**
 * Where pushed grants arrive: one subscription for all semaphores with one prefix on one client
 * object, made when a request first waits, and gone some time after the last waiter.
 */
export class Inbox {
  readonly #client: Client;
  readonly #prefix: string;
  /** Semaphores with requests that wait for a push. */
  readonly #waiting = new Set<Waiters>();
  #listening: Listening | undefined;
  /** While requests wait it subscribes again, else it closes. */
  readonly #alarm: Wakeup;
  /** By the monotonic clock: when a subscription may be opened again. */
  #opensAt = -Infinity;
  /** Settles when all subscriptions that were given up have ended. */
  #ended: Promise<void> = Promise.resolve();
  /** The subscription is confirmed: grants are pushed. Written here alone. */
  healthy = false;
  #isInterrupted = false;

  constructor(client: Client, prefix: string) {
    const { clock } = client;
    this.#client = client;
    this.#prefix = prefix;
    this.#alarm = new Wakeup(clock, false, () => {
      if (this.#waiting.size > 0) this.#listen();
      else void this.close();
    });
  }

  /** `waiters` wait for a push: opens the subscription if it is not open. */
  add(waiters: Waiters): void {
    if (this.#waiting.has(waiters)) return;
    this.#alarm.stop();
    this.#waiting.add(waiters);
    this.#listen();
  }

  remove(waiters: Waiters): void {
    if (!this.#waiting.delete(waiters) || this.#waiting.size > 0) return;
    if (this.#listening === undefined) void this.close();
    else this.#closeLater();
  }

  #closeLater(): void {
    this.#alarm.stop();
    const now = this.#client.clock.monotonic();
    this.#alarm.wakeBy(now + (this.healthy ? LINGER_MS : CONNECTING_LINGER_MS), now);
  }

  async close(): Promise<void> {
    if (this.#waiting.size > 0) return;
    this.#alarm.stop();
    this.healthy = false;
    this.#giveUp();
    await this.#ended;
  }

  #listen(): void {
    if (this.#listening !== undefined) return;
    const { backend, clock, name } = this.#client;
    const now = clock.monotonic();
    if (now < this.#opensAt) return this.#alarm.wakeBy(this.#opensAt, now);
    try {
      this.#listening = backend.listen?.(name, this.#prefix, this.#listener);
    } catch {
      this.#onFailed();
    }
  }

  #giveUp(): void {
    if (this.#listening === undefined) return;
    // Without their results: each result would keep the results before it.
    this.#ended = Promise.all([this.#ended, this.#listening.close()]).then(() => undefined);
    this.#listening = undefined;
  }

  #find(name: string, id: string): Permit | undefined {
    return this.#client.find({ prefix: this.#prefix, name }, id);
  }

  readonly #listener: GrantListener = {
    onGrants: (grants, name) => this.#client.handOut({ prefix: this.#prefix, name }, grants),
    onEnded: (ended, name) => {
      for (const { id } of ended) this.#find(name, id)?.onReportedGone?.();
    },
    onTurn: (turn, name) => this.#find(name, turn.id)?.onTurn?.(turn),
    onHealth: (healthy) => this.#onHealth(healthy),
    onFailed: () => this.#onFailed(),
  };

  #onHealth(healthy: boolean): void {
    const wasHealthy = this.healthy;
    this.healthy = healthy && this.#listening !== undefined;
    if (!healthy && this.#waiting.size === 0) return void this.close();
    if (this.healthy && this.#waiting.size === 0) this.#closeLater();
    // Each notification makes waiters poll as often as at first: not worth it without news.
    if (!this.healthy && !wasHealthy) return;
    const isBack = this.healthy && this.#isInterrupted;
    this.#isInterrupted = !this.healthy;
    // Also the semaphores whose calls are under way: a grant may have been pushed meanwhile.
    for (const { waiters } of this.#client.semaphores.all())
      if (waiters.inbox === this) waiters.onHealth(this.healthy, isBack);
  }

  #onFailed(): void {
    this.#opensAt = this.#client.clock.monotonic() + RESUBSCRIBE_DELAY_MS;
    this.#onHealth(false);
    this.#giveUp();
    if (this.#waiting.size > 0) this.#listen();
  }
}
