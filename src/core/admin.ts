import { checkBudgetRoom } from '../arguments/resolve.js';
import type * as port from '../backends/backend.js';
import { adoptedId } from '../backends/ticket-id.js';
import { BackendError } from '../errors.js';
import { instant } from '../time/clock.js';
import { Lease } from './lease.js';
import { retryUntilDeadline } from './retry-until-deadline.js';
import type { SemaphoreLink } from './semaphore-link.js';

type Change = 'setLimit' | 'setRate' | 'setGroupLimit' | 'addPermits' | 'adopt' | 'revoke';
type Method<M extends Change> = Required<port.Backend>[M];
type Fields = { [M in Change]: Omit<Parameters<Method<M>>[0], keyof port.ChangeCall> };
type Changes = { [M in Change]?: (call: port.ChangeCall & Fields[M]) => ReturnType<Method<M>> };

/**
 * Calls about a semaphore as a whole, or about one ticket by its id: each is tried again until it
 * succeeds or its time is over.
 */
export class Admin {
  readonly #link: SemaphoreLink;
  /** Once it is aborted, no call is tried again: a call that would be rejects with the reason. */
  readonly closing: AbortController = new AbortController();

  constructor(link: SemaphoreLink) {
    this.#link = link;
  }

  async setLimit(newLimit: number | undefined): Promise<void> {
    await this.#change('setLimit', 'setting the limit of', { newLimit });
  }

  /** `budget`: the name of a budget, which changes in place of the rate. */
  async setRate(newRate: port.Rate | undefined, budget?: string): Promise<void> {
    const { name, options } = this.#link;
    // The server knows the own budgets only after an acquire.
    const own = Object.keys((newRate && options.budgets) ?? {});
    if (budget !== undefined) checkBudgetRoom(name, own, budget);
    const what = `setting ${budget === undefined ? 'the rate' : 'a budget'} of`;
    const { reply } = await this.#change('setRate', what, { newRate, budget });
    if (budget !== undefined) checkBudgetRoom(name, reply.full ?? [], budget);
  }

  async setGroupLimit(newGroupLimit: number | undefined): Promise<void> {
    await this.#change('setGroupLimit', 'setting the group limit of', { newGroupLimit });
  }

  async addPermits(delta: number): Promise<port.AddPermitsReply> {
    // Of the change, which is made once however often it is sent.
    const id = this.#link.client.newId(1);
    return (await this.#change('addPermits', 'changing the limit of', { delta, id })).reply;
  }

  /** Undefined when the ticket is gone. `permits`: how many it is for. */
  async adopt(id: string, permits: number): Promise<Lease | undefined> {
    const link = this.#link;
    const { client, key, options } = link;
    const { ttl, label } = options;
    const newId = adoptedId(client.newId(permits), id);
    const fields = { ttl, label, newId };
    const { reply, sent } = await this.#change('adopt', 'adopting a ticket of', fields);
    const { ticket } = reply;
    if (ticket === undefined) return undefined;
    const lease = new Lease(link, newId);
    if (!lease.hold(ticket, { from: sent, duration: ttl }, true)) return undefined;
    link.permits.set(newId, lease);
    lease.publishGrant(0);
    // A call that ran twice found the ticket under its new id already.
    if (ticket.before !== newId) client.find(key.name, ticket.before)?.lose?.('missing');
    return lease;
  }

  async revoke(id: string): Promise<boolean> {
    const { reply } = await this.#change('revoke', 'revoking a ticket of', { id });
    if (reply.revoked) this.#link.client.find(this.#link.name, id)?.lose?.('revoked');
    return reply.revoked;
  }

  async inspect(): Promise<port.InspectReply> {
    const { rate, budgets, groupLimit } = this.#link.options;
    const reply = await this.#retried('inspecting', () =>
      this.#link.backend.inspect({ ...this.#link.call, rate, budgets, groupLimit }),
    );
    this.#link.limit = reply.limitFrom === 'setLimit' ? reply.limit : this.#link.call.limit;
    return reply;
  }

  /** The server does nothing after `notAfter`: by then its caller has an error. */
  async #change<M extends Change>(method: M, what: string, fields: Fields[M]) {
    const { call, client, clock, callTimeoutMs, batchers, key, name } = this.#link;
    const backend: Changes = client.backend;
    const change = backend[method]?.bind(backend);
    if (change === undefined) {
      throw new BackendError(
        `${method} of ${JSON.stringify(name)} is not available: this backend has no ${method}, nor have several independent masters`,
        undefined,
        key,
      );
    }
    const over = clock.monotonic() + callTimeoutMs;
    return this.#retried(what, async () => {
      const sent = instant(clock);
      const notAfter = batchers.serverClock.latestIn(Math.max(over - sent.monotonic, 0));
      const reply = await change({ ...call, notAfter, ...fields });
      this.#link.observe(reply, sent);
      // The server's clock was stepped, or the call was delayed: again, now that its time is known
      // better.
      const { late }: port.ChangeReply = reply;
      if (late === true) {
        throw new Error('the call reached the server after its deadline and was refused');
      }
      return { sent, reply };
    });
  }

  #retried<R>(what: string, call: () => Promise<R>): Promise<R> {
    const about = `${what} ${JSON.stringify(this.#link.name)}`;
    return retryUntilDeadline(this.#link, about, call, this.closing.signal);
  }
}
