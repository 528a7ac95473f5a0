import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';

import type {
  AcquireReply,
  GrantListener,
  InspectReply,
  Overview,
  PushedGrant,
  TicketRequest,
} from '../../src/backends/backend.js';
import { parseTicketId } from '../../src/backends/ticket-id.js';
import { type ModelRequest, OrderModel } from '../support/order-model.js';
import type { CallOptions, PortFixture, RedisFixture } from './port-fixture.js';
import { ofGroup, request } from './port-fixture.js';

/** A request as a program makes it on both sides. */
export interface Ask extends Pick<TicketRequest, 'id' | 'order' | 'cost' | 'asksProgress'> {
  readonly how: 'wait' | 'try' | 'again';
}

/** Tokens and places rise alike on both sides, but have not the same last digits. */
const RISING = ['fencingToken', 'arrival', 'waitingFor', 'heldFor', 'oldestWait', 'tokens'];
const TIMES = ['serverTime', 'askAgainAt', 'expiresAt', 'expiresIn', 'nextIn', 'at'];

/** One backend on its way through a program. */
export class Side<Fixture extends PortFixture = PortFixture> {
  readonly fixture: Fixture;
  readonly tokens = new Map<string, number>();
  readonly arrivals = new Map<string, number | undefined>();
  /** The messages to each client: grants in their order, and tickets that ended. */
  readonly pushed = new Map<string, unknown[]>();
  #highest = 0;
  #state: InspectReply | undefined;

  constructor(fixture: Fixture) {
    this.fixture = fixture;
  }

  async acquire(asks: readonly Ask[], options: CallOptions): Promise<AcquireReply> {
    const requests = asks.map(({ id, how, ...rest }) =>
      request(id, how === 'again' ? (this.arrivals.get(id) ?? 'wait') : how, rest),
    );
    const reply = await this.fixture.acquire(requests, options);
    reply.verdicts.forEach((verdict, i) => {
      const id = asks[i]?.id ?? '';
      if (verdict.kind === 'granted') this.tokens.set(id, verdict.fencingToken);
      if (verdict.kind !== 'queued') return;
      expect(verdict.arrival, `place of ${id}`).to.equal(this.arrivals.get(id) ?? verdict.arrival);
      this.arrivals.set(id, verdict.arrival);
    });
    this.#note(reply.grants);
    return reply;
  }

  async acquireTogether(id: string, options: CallOptions): Promise<AcquireReply | undefined> {
    const reply = await this.fixture.acquireTogether(id, options);
    const verdict = reply?.verdicts[0];
    if (verdict?.kind === 'granted') this.tokens.set(id, verdict.fencingToken);
    this.#note(reply?.grants ?? []);
    return reply;
  }

  async inspect(): Promise<InspectReply> {
    const state = await this.fixture.inspect();
    this.#state = state;
    const slots = state.holders.flatMap((holder) => holder.slots);
    expect(new Set(slots).size, 'distinct slots').to.equal(state.held);
    for (const { id, fencingToken } of state.holders) {
      if (this.tokens.get(id) !== fencingToken) {
        expect(fencingToken, `token of ${id}`).to.be.above(this.#highest);
      }
    }
    this.#note(state.holders);
    this.#highest = Math.max(this.#highest, ...this.tokens.values());
    const idle = state.held + state.waiting === 0 && state.limitFrom !== 'setLimit';
    const holders = state.holders.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    // How long the limit of an idle semaphore is remembered is each backend's own.
    return { ...state, holders, ...(idle ? { limit: 1, limitFrom: 'options' } : {}) };
  }

  /** As the state that was inspected last has it. */
  async overview(): Promise<Partial<Overview>> {
    const { held, waiting, oldestWait, tokens, ...limits } = await this.fixture.overview();
    const { waiters = [], holders = [] } = this.#state ?? {};
    const waits = waiters.map(({ waitingFor }) => waitingFor);
    if (waiting > 0) expect(oldestWait).to.be.closeTo(Math.max(...waits), 0.01);
    expect(tokens).to.have.length(Math.min(holders.length, 32));
    expect(holders.map(({ fencingToken }) => fencingToken)).to.include.members([...tokens]);
    return { held, waiting, ...(held + waiting > 0 ? limits : {}) };
  }

  /** Notes the messages to a client. */
  listenerFor(client: string): Omit<GrantListener, 'onHealth'> {
    const push = (what: string, messages: readonly unknown[]): void => {
      const all = [...(this.pushed.get(`${what} ${client}`) ?? []), ...messages.map(plain)];
      // Either side may report a turn again, where a call changes nothing.
      const isNew = (each: unknown, i: number): boolean =>
        what !== 'turns of' || !isDeepStrictEqual(each, all[i - 1]);
      this.pushed.set(`${what} ${client}`, all.filter(isNew));
    };
    return {
      onGrants: (grants) => {
        this.#note(grants);
        push('grants to', grants);
      },
      onEnded: (ended) => push('ends reported to', ended),
      onTurn: (turn) => push('turns of', [turn]),
    };
  }

  /** Ids in the order of their last tokens, and of their places. */
  order(): string[][] {
    return [this.tokens, this.arrivals].map((numbers) =>
      [...numbers].toSorted(([, a = 0], [, b = 0]) => a - b).map(([id]) => id),
    );
  }

  #note(grants: readonly Pick<PushedGrant, 'id' | 'fencingToken'>[]): void {
    for (const { id, fencingToken } of grants) this.tokens.set(id, fencingToken);
  }
}

/** The model of the order of the queue, with the holders by the model. */
export class ModelSide {
  readonly #model = new OrderModel();
  readonly #held = new Map<string, ModelRequest>();
  readonly #limit: number;

  constructor(limit: number, groupLimit = Infinity) {
    this.#limit = limit;
    this.#model.groupLimit = groupLimit;
  }

  /** The requests that the model grants by now. */
  add({ id, order }: Ask): string[] {
    this.#model.add({ id, permits: parseTicketId(id)?.permits ?? 1, ...(order ?? ofGroup('')) });
    return this.#grant();
  }

  giveBack(id: string): string[] {
    const held = this.#held.get(id);
    if (held === undefined) this.#model.withdraw(id);
    else this.#model.release(held);
    this.#held.delete(id);
    return this.#grant();
  }

  inOrder(): string[] {
    return this.#model.inOrder();
  }

  #grant(): string[] {
    const used = [...this.#held.values()].reduce((sum, { permits }) => sum + permits, 0);
    const next = this.#model.next(this.#limit - used);
    if (next === undefined) return [];
    this.#held.set(next.id, next);
    return [next.id, ...this.#grant()];
  }
}

/** Subscriptions in Redis: for each client, through all programs. */
export class Pushes {
  /** The side that the messages reach from now on. */
  reader: Side | undefined;
  readonly #redis: RedisFixture;
  readonly #onLast = new Map<string, () => void>();

  constructor(redis: RedisFixture) {
    this.#redis = redis;
  }

  async open(clients: readonly string[]): Promise<void> {
    for (const client of clients) {
      const reader = () => this.reader?.listenerFor(client);
      this.#onLast.set(client, () => {});
      await this.#redis.subscribe(client, {
        onGrants: (grants, name) => reader()?.onGrants(grants, name),
        onEnded: (ended, name) =>
          name === 'last' ? this.#onLast.get(client)?.() : reader()?.onEnded?.(ended, name),
        onTurn: (turn, name) => reader()?.onTurn?.(turn, name),
      });
    }
  }

  /** Messages reach a client in order: after that of one more semaphore there are no more. */
  async allIn(): Promise<void> {
    const clients = [...this.#onLast.keys()];
    this.#redis.moveTo('last', clients.length);
    for (const client of clients) {
      const last = new Promise<void>((resolve) => this.#onLast.set(client, resolve));
      await this.#redis.take(`${client}.last`);
      await this.#redis.revoke(`${client}.last`);
      await last;
    }
  }
}

export function compare(redis: unknown, memory: unknown): void {
  expect(plain(redis), 'Redis, and in memory').to.deep.equal(plain(memory));
}

/**
 * As both sides must have it: Redis counts in microseconds, the memory backend in milliseconds;
 * absent fields are left out.
 */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const said = Object.entries(value).filter(([name, one]) => {
    return one !== undefined && one !== false && !RISING.includes(name);
  });
  const shown = said.map(([name, one]): [string, unknown] => {
    return [name, TIMES.includes(name) ? Math.round(Number(one) * 100) / 100 : plain(one)];
  });
  return Object.fromEntries(shown);
}
