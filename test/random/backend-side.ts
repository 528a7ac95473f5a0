import { expect } from 'chai';

import type { AcquireVerdict, Backend, PushedGrant, Reply } from '../../src/backend.js';
import type { Ask, ReferenceModel, Ticket, Verdict } from './reference-model.js';

export const PREFIX = 'random';
/** What the model calls 0, in milliseconds since the epoch. */
export const START = 1_700_000_000_000;

/** Who calls, and with what options. */
export interface Client {
  readonly name: string;
  readonly ttl: number;
}

/** A backend with the calls that one may lack. */
type FullBackend = Backend & Required<Pick<Backend, 'setLimit' | 'adopt' | 'revoke'>>;

type ModelReply<Call extends keyof ReferenceModel> = ReferenceModel[Call] extends (
  ...args: never[]
) => infer Expected
  ? Expected
  : never;

/** Running numbers of the model and what a backend has in their place: both rise together, and none changes. */
class RisingNumbers {
  readonly #values = new Map<number, number>();

  note(number: number, value: number): void {
    expect(value, 'a token or place told again').to.equal(this.#values.get(number) ?? value);
    this.#values.set(number, value);
  }

  expectRising(): void {
    const values = [...this.#values].toSorted(([a], [b]) => a - b).map(([, value]) => value);
    values.forEach((value, i) => {
      if (i > 0) expect(value, 'token or place').to.be.above(values[i - 1] ?? NaN);
    });
  }
}

/** One backend on its way through a program: each call is held against what the model says. */
export class BackendSide {
  readonly pushedGrants = new Map<string, PushedGrant[]>();
  readonly pushedEnds = new Map<string, string[]>();
  readonly #backend: FullBackend;
  readonly #key: { readonly prefix: string; readonly name: string };
  readonly #limit: number;
  readonly #tokens = new RisingNumbers();
  readonly #arrivals = new RisingNumbers();
  readonly #places = new Map<number, number>();

  constructor(backend: FullBackend, name: string, limit: number) {
    this.#backend = backend;
    this.#key = { prefix: PREFIX, name };
    this.#limit = limit;
  }

  async acquire(
    client: Client,
    asks: readonly Ask[],
    late: boolean,
    now: number,
    expected: ModelReply<'acquire'>,
  ): Promise<void> {
    const requests = asks.map((ask) => {
      const { arrival } = ask;
      return { ...ask, arrival: arrival === undefined ? arrival : this.#places.get(arrival) };
    });
    const notAfter = late ? START + now - 0.5 : undefined;
    const { ttl } = client;
    const call = { ...this.#call(client), ttl, label: client.name, notAfter, requests };
    const reply = await this.#backend.acquire(call);
    this.#expectReply(reply, now, expected);
    const told = reply.verdicts.map((verdict, i) => this.#verdict(verdict, expected.verdicts[i]));
    expect(told).to.deep.equal(expected.verdicts.map((verdict) => plainVerdict(verdict)));
    if (expected.nearest === undefined) return;
    expect(rounded(reply.nearestExpiry), 'nearest expiry').to.equal(onServer(expected.nearest));
  }

  async extend(
    client: Client,
    ids: readonly string[],
    now: number,
    expected: ModelReply<'extend'>,
    mayRemember: (id: string) => boolean,
  ): Promise<void> {
    const reply = await this.#backend.extend({ ...this.#call(client), ttl: client.ttl, ids });
    this.#expectReply(reply, now, expected);
    expect(reply.extended).to.deep.equal(expected.extended);
    const { revoked = [] } = reply;
    expect(revoked).to.include.members(expected.revoked);
    for (const id of revoked) expect(mayRemember(id), `${id} was revoked`).to.equal(true);
  }

  async release(
    client: Client,
    ids: readonly string[],
    now: number,
    expected: ModelReply<'release'>,
  ): Promise<void> {
    const reply = await this.#backend.release({ ...this.#call(client), ids });
    this.#expectReply(reply, now, expected);
    expect(reply.released).to.deep.equal(expected.released);
  }

  async setLimit(
    client: Client,
    newLimit: number,
    now: number,
    expected: ModelReply<'setLimit'>,
  ): Promise<void> {
    const reply = await this.#backend.setLimit({ ...this.#call(client), newLimit });
    this.#expectReply(reply, now, expected);
  }

  async adopt(
    client: Client,
    id: string,
    newId: string,
    now: number,
    expected: ModelReply<'adopt'>,
  ): Promise<void> {
    const { name: label, ttl } = client;
    const reply = await this.#backend.adopt({ ...this.#call(client), ttl, label, id, newId });
    this.#expectReply(reply, now, expected);
    const { ticket } = expected;
    const wanted = ticket && { slots: ticket.slots, before: ticket.before };
    const { slots, before } = reply.ticket ?? {};
    expect(reply.ticket && { slots, before }, 'adopted').to.deep.equal(wanted);
    if (ticket && reply.ticket) this.#tokens.note(ticket.grant, reply.ticket.fencingToken);
  }

  async revoke(
    client: Client,
    id: string,
    now: number,
    expected: ModelReply<'revoke'>,
  ): Promise<void> {
    const reply = await this.#backend.revoke({ ...this.#call(client), id });
    this.#expectReply(reply, now, expected);
    expect(reply.revoked, 'revoked').to.equal(expected.revoked);
  }

  /** Who holds what, who waits, and how long still. */
  async expectState(now: number, expected: ModelReply<'state'>): Promise<void> {
    const state = await this.#backend.inspect({ key: this.#key, limit: this.#limit });
    const holders = state.holders
      .map(({ id, slots, expiresIn }) => ({ id, slots, until: rounded(START + now + expiresIn) }))
      .toSorted((a, b) => (a.slots[0] ?? 0) - (b.slots[0] ?? 0));
    const waiters = state.waiters.map(({ id, permits, position }) => ({ id, permits, position }));
    const { limit, held, waiting } = state;
    expect({ limit, held, waiting, holders, waiters }, 'state').to.deep.equal({
      ...expected,
      holders: expected.holders.map((ticket) => plainTicket(ticket)),
    });
    for (const { id, grant } of expected.holders) {
      const holder = state.holders.find((one) => one.id === id);
      if (holder !== undefined) this.#tokens.note(grant, holder.fencingToken);
    }
  }

  /** What was told without being asked, once it has all arrived. */
  expectPushes({ pushedGrants, pushedEnds }: ReferenceModel): void {
    const told = [...this.pushedGrants].flatMap(([client, list]) => (list[0] ? [client] : []));
    expect(told, 'clients told of grants').to.have.members([...pushedGrants.keys()]);
    for (const [client, expected] of pushedGrants) {
      this.#expectGrants(this.pushedGrants.get(client) ?? [], expected);
    }
    for (const [client, ends] of this.pushedEnds) {
      expect(ends, `ends told to ${client}`).to.deep.equal(pushedEnds.get(client) ?? []);
    }
    this.#tokens.expectRising();
    this.#arrivals.expectRising();
  }

  /** Notes what is pushed to one client. */
  listenerOf(client: string) {
    const grants: PushedGrant[] = [];
    const ends: string[] = [];
    this.pushedGrants.set(client, grants);
    this.pushedEnds.set(client, ends);
    return { grants, ends };
  }

  #call({ name }: Client) {
    return { key: this.#key, limit: this.#limit, client: name };
  }

  #expectReply(
    reply: Reply,
    now: number,
    expected: { readonly grants: readonly Ticket[]; readonly storedLimit: number | undefined },
  ): void {
    expect(rounded(reply.serverTime), 'server time').to.equal(START + now);
    expect(reply.storedLimit, 'stored limit').to.equal(expected.storedLimit);
    expect(reply.otherLimit, 'other limit').to.equal(undefined);
    this.#expectGrants(reply.grants, expected.grants);
  }

  #expectGrants(grants: readonly PushedGrant[], expected: readonly Ticket[]): void {
    const plain = grants.map(({ id, slots, expiresAt }) => {
      return { id, slots, until: rounded(expiresAt) };
    });
    expect(plain, 'grants').to.deep.equal(expected.map((ticket) => plainTicket(ticket)));
    expected.forEach(({ grant }, i) => this.#tokens.note(grant, grants[i]?.fencingToken ?? NaN));
  }

  #verdict(verdict: AcquireVerdict, expected: Verdict | undefined): string {
    if (verdict.kind === 'granted' && expected?.kind === 'granted') {
      this.#tokens.note(expected.grant, verdict.fencingToken);
    }
    if (verdict.kind === 'queued' && expected?.kind === 'queued') {
      this.#arrivals.note(expected.arrival, verdict.arrival ?? NaN);
      this.#places.set(expected.arrival, verdict.arrival ?? NaN);
    }
    return plainVerdict(verdict);
  }
}

function plainVerdict(verdict: Verdict | AcquireVerdict): string {
  if (verdict.kind === 'over') return `over ${verdict.limit}`;
  return verdict.kind === 'granted' ? `granted ${verdict.slots.join(',')}` : verdict.kind;
}

function plainTicket({ id, slots, until }: Ticket) {
  return { id, slots, until: onServer(until) };
}

function onServer(time: number): number | undefined {
  return rounded(START + time);
}

/** One side counts in microseconds, the other in milliseconds. */
function rounded(time: number | undefined): number | undefined {
  return time === undefined ? undefined : Math.round(time * 100) / 100;
}
