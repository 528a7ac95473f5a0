import type {
  AddPermitsReply,
  AdoptedTicket,
  Backend,
  InspectReply,
  Rate,
  Reply,
} from '../backends/backend.js';
import { BackendError } from '../errors.js';
import type { Clock, Instant } from '../time/clock.js';
import { instant } from '../time/clock.js';
import type { CallTerms } from './call-terms.js';
import type { RetryOptions } from './retry.js';
import { retryUntilDeadline } from './retry.js';

interface Adopted {
  readonly ticket: AdoptedTicket;
  /** The moment before the call left. */
  readonly sent: Instant;
}

/**
 * What is asked of a semaphore as a whole, or of one ticket by its id: tried again until it
 * succeeds or its time is over.
 */
export class OperatorCalls {
  readonly #backend: Backend;
  readonly #terms: CallTerms;
  readonly #clock: Clock;
  readonly #retry: RetryOptions;
  readonly #closing = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(backend: Backend, terms: CallTerms, retry: RetryOptions) {
    this.#backend = backend;
    this.#terms = terms;
    this.#clock = retry.clock;
    this.#retry = retry;
  }

  async setLimit(newLimit: number): Promise<void> {
    const setLimit = this.#backend.setLimit?.bind(this.#backend) ?? this.#unable('setLimit');
    const call = { ...this.#terms.call, newLimit };
    await this.#untilDone('setting the limit of', (notAfter) => setLimit({ ...call, notAfter }));
    this.#terms.forgetOtherLimit();
  }

  async setRate(newRate: Rate | undefined): Promise<void> {
    const setRate = this.#backend.setRate?.bind(this.#backend) ?? this.#unable('setRate');
    const call = { ...this.#terms.call, newRate };
    await this.#untilDone('setting the rate of', (notAfter) => setRate({ ...call, notAfter }));
  }

  /** `id`: of the change, which is made once however often it is sent. */
  async addPermits(delta: number, id: string): Promise<AddPermitsReply> {
    const addPermits = this.#backend.addPermits?.bind(this.#backend) ?? this.#unable('addPermits');
    const call = { ...this.#terms.call, delta, id };
    const { reply } = await this.#untilDone('changing the limit of', (notAfter) =>
      addPermits({ ...call, notAfter }),
    );
    if (reply.refused !== true) this.#terms.forgetOtherLimit();
    return reply;
  }

  /** Undefined when the ticket is gone. `newId` is its id from now on. */
  async adopt(id: string, newId: string): Promise<Adopted | undefined> {
    const adopt = this.#backend.adopt?.bind(this.#backend) ?? this.#unable('adopt');
    const { call, ttl, label } = this.#terms;
    const { sent, reply } = await this.#untilDone('adopting a ticket of', (notAfter) =>
      adopt({ ...call, ttl, label, id, newId, notAfter }),
    );
    return reply.ticket && { ticket: reply.ticket, sent };
  }

  async revoke(id: string): Promise<boolean> {
    const revoke = this.#backend.revoke?.bind(this.#backend) ?? this.#unable('revoke');
    const call = { ...this.#terms.call, id };
    const { reply } = await this.#untilDone('revoking a ticket of', () => revoke(call));
    return reply.revoked;
  }

  async inspect(): Promise<InspectReply> {
    const reply = await this.#retried('inspecting', () =>
      this.#backend.inspect({ ...this.#terms.call, rate: this.#terms.rate }),
    );
    this.#terms.noteLimit(reply.limitFrom === 'setLimit' ? reply.limit : undefined);
    return reply;
  }

  /**
   * Nothing is tried again from now on: what was to be tried again rejects with `reason`. Resolves
   * when no try is under way; never rejects.
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
    const over = this.#clock.monotonic() + this.#retry.limit;
    return this.#retried(what, async () => {
      const sent = instant(this.#clock);
      const left = Math.max(over - sent.monotonic, 0);
      const reply = await call(this.#terms.serverClock.latestIn(left));
      this.#terms.observe(sent, reply);
      // The server's clock was stepped, or the call was delayed: again, now that its time is known
      // better.
      if (reply.late === true) {
        throw new Error('the call reached the server after its deadline and was refused');
      }
      return { sent, reply };
    });
  }

  async #retried<R>(what: string, call: () => Promise<R>): Promise<R> {
    const options = { ...this.#retry, signal: this.#closing.signal };
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
    return JSON.stringify(this.#terms.name);
  }

  #unable(method: string): never {
    throw new BackendError(
      `${method} of ${this.#quoted} is not available: this backend has no ${method}, nor have several independent masters`,
      undefined,
      this.#terms.key,
    );
  }
}
