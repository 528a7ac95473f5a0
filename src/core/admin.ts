import type {
  AddPermitsReply,
  AdoptedTicket,
  InspectReply,
  Rate,
  Reply,
} from '../backends/backend.js';
import { BackendError } from '../errors.js';
import type { Instant } from '../time/clock.js';
import { instant } from '../time/clock.js';
import { retryUntilDeadline } from './retry.js';
import type { SemaphoreLink } from './semaphore-link.js';

interface Adopted {
  readonly ticket: AdoptedTicket;
  /** The moment before the call left. */
  readonly sent: Instant;
}

/**
 * Calls about a semaphore as a whole, or about one ticket by its id: each is tried again until it
 * succeeds or its time is over.
 */
export class Admin {
  readonly #link: SemaphoreLink;
  readonly #closing = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(link: SemaphoreLink) {
    this.#link = link;
  }

  async setLimit(newLimit: number | undefined): Promise<void> {
    const { backend } = this.#link.client;
    const setLimit = backend.setLimit?.bind(backend) ?? this.#unable('setLimit');
    const call = { ...this.#link.call, newLimit };
    await this.#untilDone('setting the limit of', (notAfter) => setLimit({ ...call, notAfter }));
    this.#link.forgetOtherLimit();
  }

  /** `budget`: the name of one in place of the rate. */
  async setRate(newRate: Rate | undefined, budget?: string): Promise<void> {
    const { backend } = this.#link.client;
    const setRate = backend.setRate?.bind(backend) ?? this.#unable('setRate');
    const call = { ...this.#link.call, newRate, budget };
    const what = `setting ${budget === undefined ? 'the rate' : 'a budget'} of`;
    await this.#untilDone(what, (notAfter) => setRate({ ...call, notAfter }));
  }

  async setGroupLimit(newGroupLimit: number | undefined): Promise<void> {
    const { backend } = this.#link.client;
    const setGroupLimit = backend.setGroupLimit?.bind(backend) ?? this.#unable('setGroupLimit');
    const call = { ...this.#link.call, newGroupLimit };
    const what = 'setting the group limit of';
    await this.#untilDone(what, (notAfter) => setGroupLimit({ ...call, notAfter }));
  }

  /** `id`: of the change, which is made once however often it is sent. */
  async addPermits(delta: number, id: string): Promise<AddPermitsReply> {
    const { backend } = this.#link.client;
    const addPermits = backend.addPermits?.bind(backend) ?? this.#unable('addPermits');
    const call = { ...this.#link.call, delta, id };
    const { reply } = await this.#untilDone('changing the limit of', (notAfter) =>
      addPermits({ ...call, notAfter }),
    );
    if (reply.refused !== true) this.#link.forgetOtherLimit();
    return reply;
  }

  /** Undefined when the ticket is gone. `newId` is its id from now on. */
  async adopt(id: string, newId: string): Promise<Adopted | undefined> {
    const { backend } = this.#link.client;
    const adopt = backend.adopt?.bind(backend) ?? this.#unable('adopt');
    const { call, ttl, label } = this.#link;
    const { sent, reply } = await this.#untilDone('adopting a ticket of', (notAfter) =>
      adopt({ ...call, ttl, label, id, newId, notAfter }),
    );
    return reply.ticket && { ticket: reply.ticket, sent };
  }

  async revoke(id: string): Promise<boolean> {
    const { backend } = this.#link.client;
    const revoke = backend.revoke?.bind(backend) ?? this.#unable('revoke');
    const call = { ...this.#link.call, id };
    const { reply } = await this.#untilDone('revoking a ticket of', () => revoke(call));
    return reply.revoked;
  }

  async inspect(): Promise<InspectReply> {
    const { rate, budgets, groupLimit } = this.#link;
    const reply = await this.#retried('inspecting', () =>
      this.#link.client.backend.inspect({ ...this.#link.call, rate, budgets, groupLimit }),
    );
    this.#link.noteLimit(reply.limitFrom === 'setLimit' ? reply.limit : undefined);
    return reply;
  }

  /**
   * No call is tried again from now on: a call that would be rejects with `reason`. Resolves when
   * no try is under way; never rejects.
   */
  async close(reason: Error): Promise<void> {
    this.#closing.abort(reason);
    await Promise.allSettled(this.#underWay);
  }

  /**
   * `call` gets the server time after which it must do nothing: by then its caller has an error.
   */
  async #untilDone<R extends Reply & { readonly late?: boolean }>(
    what: string,
    call: (notAfter: number | undefined) => Promise<R>,
  ) {
    const { clock, callTimeoutMs, serverClock } = this.#link;
    const over = clock.monotonic() + callTimeoutMs;
    return this.#retried(what, async () => {
      const sent = instant(clock);
      const reply = await call(serverClock.latestIn(Math.max(over - sent.monotonic, 0)));
      this.#link.observe(reply, sent);
      // The server's clock was stepped, or the call was delayed: again, now that its time is known
      // better.
      if (reply.late === true) {
        throw new Error('the call reached the server after its deadline and was refused');
      }
      return { sent, reply };
    });
  }

  async #retried<R>(what: string, call: () => Promise<R>): Promise<R> {
    const { clock, retry, callTimeoutMs, client, key } = this.#link;
    const isRetryable = (error: unknown): boolean => client.isRetryable(error);
    const { signal } = this.#closing;
    const options = { clock, retry, timeoutMs: callTimeoutMs, subject: key, signal, isRetryable };
    const done = retryUntilDeadline(options, `${what} ${this.#quoted}`, call);
    this.#underWay.add(done);
    try {
      return await done;
    } finally {
      this.#underWay.delete(done);
    }
  }

  /** As messages show it. */
  get #quoted(): string {
    return JSON.stringify(this.#link.name);
  }

  #unable(method: string): never {
    throw new BackendError(
      `${method} of ${this.#quoted} is not available: this backend has no ${method}, nor have several independent masters`,
      undefined,
      this.#link.key,
    );
  }
}
