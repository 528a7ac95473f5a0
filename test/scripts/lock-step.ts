import { expect } from 'chai';
import { isDeepStrictEqual } from 'node:util';

import type {
  AcquireReply,
  Backend,
  PushedGrant,
  Reply,
  TicketRequest,
} from '../../src/backend.js';
import { ManualClock } from '../../src/manual-clock.js';
import { MemoryBackend } from '../../src/memory/memory-backend.js';
import { request } from './script-bench.js';

export interface Member {
  readonly name: string;
  readonly ttl: number;
  readonly label: string;
}

export interface Ask {
  readonly id: string;
  readonly how: 'wait' | 'try' | 'again';
}

/** What a backend told of one ticket or request. Numbers that rise are compared by their order, not by value. */
interface Told {
  token?: number;
  arrival?: number | undefined;
}

const PREFIX = 'lockstep';

/** One backend on its way through a program. */
class Side {
  readonly backend: Backend;
  readonly told = new Map<string, Told>();
  /** Grants that were pushed, by client, in their order. */
  readonly pushes = new Map<string, string[]>();
  /** Tickets that were taken from their holders, as these are told, by client. */
  readonly ended = new Map<string, string[]>();
  readonly #name: string;

  constructor(backend: Backend, name: string) {
    this.backend = backend;
    this.#name = name;
  }

  call({ name }: Member, limit: number) {
    return { key: { prefix: PREFIX, name: this.#name }, limit, client: name };
  }

  async acquire(member: Member, limit: number, asks: readonly Ask[], notAfter?: number) {
    const requests = asks.map(({ id, how }): TicketRequest => {
      if (how !== 'again') return request(id, how);
      return request(id, this.told.get(id)?.arrival ?? 'wait');
    });
    const { ttl, label } = member;
    const call = { ...this.call(member, limit), ttl, label, notAfter, requests };
    const reply = await this.backend.acquire(call);
    requests.forEach(({ id }, i) => this.#note(id, reply.verdicts[i]));
    return {
      reply,
      plain: this.#plain(
        reply,
        reply.verdicts.map((v) => this.#plainVerdict(v)),
      ),
    };
  }

  async extend(member: Member, limit: number, ids: readonly string[]) {
    const fencingTokens = ids.map((id) => this.told.get(id)?.token ?? 1);
    const call = { ...this.call(member, limit), ttl: member.ttl, ids, fencingTokens };
    const reply = await this.backend.extend(call);
    return { ...this.#plain(reply, reply.extended), revoked: reply.revoked ?? [] };
  }

  async setLimit(member: Member, limit: number, newLimit: number) {
    const reply = await operator(this.backend).setLimit({ ...this.call(member, limit), newLimit });
    return this.#plain(reply, undefined);
  }

  async adopt(member: Member, limit: number, id: string, newId: string) {
    const { ttl, label } = member;
    const call = { ...this.call(member, limit), ttl, label, id, newId };
    const reply = await operator(this.backend).adopt(call);
    const { ticket } = reply;
    if (ticket === undefined) return this.#plain(reply, undefined);
    const { fencingToken, ...rest } = ticket;
    this.#noteToken(newId, fencingToken);
    return this.#plain(reply, rest);
  }

  async revoke(member: Member, limit: number, id: string) {
    const reply = await operator(this.backend).revoke({ ...this.call(member, limit), id });
    return this.#plain(reply, reply.revoked);
  }

  async release(member: Member, limit: number, ids: readonly string[]) {
    const reply = await this.backend.release({ ...this.call(member, limit), ids });
    return this.#plain(reply, reply.released);
  }

  async inspect(limit: number) {
    const state = await this.backend.inspect({ key: { prefix: PREFIX, name: this.#name }, limit });
    for (const { id, fencingToken } of state.holders) this.#noteToken(id, fencingToken);
    const holders = state.holders
      .map(({ fencingToken: _, ...holder }) => rounded(holder))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));
    // Numbers of one microsecond run ahead of the clock, not by the same on both sides.
    const waiters = state.waiters.map(({ waitingFor: _, ...waiter }) => waiter);
    const waits = state.waiters.map(({ waitingFor }) => waitingFor);
    return { plain: { ...state, holders, waiters }, waits };
  }

  async listen(member: Member): Promise<() => Promise<void>> {
    const seen: string[] = [];
    this.pushes.set(member.name, seen);
    const ended: string[] = [];
    this.ended.set(member.name, ended);
    return new Promise((resolve) => {
      const listening = this.backend.listen?.(member.name, PREFIX, {
        onGrants: (grants) => seen.push(...grants.map((grant) => this.#plainGrant(grant))),
        onEnded: (tickets) => ended.push(...tickets.map(({ id, reason }) => `${id} ${reason}`)),
        onHealth: () => queueMicrotask(() => resolve(async () => listening?.close())),
      });
    });
  }

  /** Ids in the order of their tokens, and of their arrivals. */
  order(): { granted: string[]; arrived: string[] } {
    const by = (field: 'token' | 'arrival'): string[] =>
      [...this.told]
        .filter(([, told]) => told[field] !== undefined)
        .toSorted(([, a], [, b]) => (a[field] ?? 0) - (b[field] ?? 0))
        .map(([id]) => id);
    return { granted: by('token'), arrived: by('arrival') };
  }

  #plain<Verdicts>(reply: AcquireReply | Reply, verdicts: Verdicts) {
    const nearest = 'nearestExpiry' in reply ? reply.nearestExpiry : undefined;
    const { storedLimit, otherLimit } = reply;
    return {
      time: millis(reply.serverTime),
      storedLimit,
      otherLimit,
      nearestExpiry: nearest === undefined ? undefined : millis(nearest),
      verdicts,
      grants: reply.grants.map((grant) => this.#plainGrant(grant)),
    };
  }

  #plainVerdict(verdict: AcquireReply['verdicts'][number]): string {
    if (verdict.kind === 'over') return `over ${verdict.limit}`;
    return verdict.kind === 'granted' ? `granted ${verdict.slots.join(',')}` : verdict.kind;
  }

  #plainGrant({ id, slots, expiresAt, fencingToken }: PushedGrant): string {
    this.#noteToken(id, fencingToken);
    return `${id} ${slots.join(',')} ${millis(expiresAt)}`;
  }

  #note(id: string, verdict: AcquireReply['verdicts'][number] | undefined): void {
    if (verdict?.kind === 'granted') this.#noteToken(id, verdict.fencingToken);
    if (verdict?.kind !== 'queued') return;
    const told = this.#told(id);
    told.arrival ??= verdict.arrival;
    expect(verdict.arrival, `the place of ${id}`).to.equal(told.arrival);
  }

  #noteToken(id: string, token: number): void {
    this.#told(id).token = token;
  }

  #told(id: string): Told {
    const told = this.told.get(id) ?? {};
    this.told.set(id, told);
    return told;
  }
}

/** The memory backend and the Redis backend, which get the same calls at the same time and must say the same. */
export class LockStep {
  readonly clock = new ManualClock(1_700_000_000_000);
  readonly memory: Side;
  readonly redis: Side;
  /** What members were made with unless `limits` says otherwise. */
  limit: number;
  readonly limits = new Map<string, number>();
  calls = 0;
  /** Until when it can be asked whether a ticket was revoked: Redis may know it for longer. */
  #releases = 0;
  readonly #revokedUntil = new Map<string, number>();

  constructor(redis: (time: () => number) => Backend, name: string, limit: number) {
    this.memory = new Side(new MemoryBackend({ clock: this.clock }), name);
    this.redis = new Side(
      redis(() => this.clock.wall()),
      name,
    );
    this.limit = limit;
  }

  /** In the order in which one call serves them: those with a place, new ones, tries. */
  sorted(asks: readonly Ask[]): Ask[] {
    const rank = ({ id, how }: Ask): number => {
      if (how === 'try') return 2;
      return how === 'again' && this.memory.told.get(id)?.arrival !== undefined ? 0 : 1;
    };
    return asks.toSorted((a, b) => rank(a) - rank(b));
  }

  async acquire(member: Member, asks: readonly Ask[], notAfter?: number): Promise<AcquireReply> {
    const [ours, theirs] = [
      await this.memory.acquire(member, this.#limitOf(member), asks, notAfter),
      await this.redis.acquire(member, this.#limitOf(member), asks, notAfter),
    ];
    // Those who do not wait need not know when the next ticket expires.
    if (ours.plain.nearestExpiry === undefined) theirs.plain.nearestExpiry = undefined;
    this.#compare(theirs.plain, ours.plain);
    return ours.reply;
  }

  async extend(member: Member, ids: readonly string[]): Promise<void> {
    const limit = this.#limitOf(member);
    const [expected, got] = [
      await this.memory.extend(member, limit, ids),
      await this.redis.extend(member, limit, ids),
    ];
    const known = (id: string): boolean =>
      (this.#revokedUntil.get(id) ?? 0) > this.clock.monotonic() + 1;
    const withKnown = <R extends { revoked: readonly string[] }>(told: R) => ({
      ...told,
      revoked: told.revoked.filter(known),
    });
    this.#compare(withKnown(got), withKnown(expected));
  }

  async release(member: Member, ids: readonly string[]): Promise<void> {
    // Each second one is of somebody who does not know the limit.
    this.#releases += 1;
    const limit = this.#releases % 2 === 0 ? 0 : this.#limitOf(member);
    const expected = await this.memory.release(member, limit, ids);
    this.#compare(await this.redis.release(member, limit, ids), expected);
  }

  async setLimit(member: Member, newLimit: number): Promise<void> {
    const limit = this.#limitOf(member);
    const expected = await this.memory.setLimit(member, limit, newLimit);
    this.#compare(await this.redis.setLimit(member, limit, newLimit), expected);
  }

  /** Whether the ticket was there. */
  async adopt(member: Member, id: string, newId: string): Promise<boolean> {
    const limit = this.#limitOf(member);
    const expected = await this.memory.adopt(member, limit, id, newId);
    this.#compare(await this.redis.adopt(member, limit, id, newId), expected);
    return expected.verdicts !== undefined;
  }

  async revoke(member: Member, id: string): Promise<void> {
    const { holders } = (await this.memory.inspect(this.limit)).plain;
    const holder = holders.find((one) => one.id === id);
    if (holder !== undefined) {
      this.#revokedUntil.set(id, this.clock.monotonic() + holder.expiresIn / 100);
    }
    const limit = this.#limitOf(member);
    const expected = await this.memory.revoke(member, limit, id);
    this.#compare(await this.redis.revoke(member, limit, id), expected);
  }

  async inspect() {
    const expected = await this.memory.inspect(this.limit);
    const { plain, waits } = await this.redis.inspect(this.limit);
    this.#compare(plain, expected.plain);
    waits.forEach((wait, i) => expect(wait).to.be.closeTo(expected.waits[i] ?? NaN, 1));
    return expected.plain;
  }

  compareOrder(): void {
    this.#compare(this.redis.order(), this.memory.order());
  }

  #limitOf({ name }: Member): number {
    return this.limits.get(name) ?? this.limit;
  }

  #compare(redis: unknown, memory: unknown): void {
    this.calls += 1;
    if (isDeepStrictEqual(redis, memory)) return;
    throw new Error(differences(redis, memory).slice(0, 10).join('\n'));
  }
}

type Operator = Required<Pick<Backend, 'setLimit' | 'adopt' | 'revoke'>>;

/** With the calls that a backend may lack. */
function operator(backend: Backend): Operator {
  for (const call of ['setLimit', 'adopt', 'revoke'] as const) {
    if (backend[call] === undefined) throw new Error(`this backend has no ${call}`);
  }
  return backend as Operator;
}

/** To the microsecond: one side counts in them, the other in milliseconds. */
function millis(time: number): number {
  return Math.round(time * 1000) / 1000;
}

function rounded<T extends { expiresIn: number; heldFor: number }>(holder: T): T {
  return {
    ...holder,
    expiresIn: Math.round(holder.expiresIn * 100),
    heldFor: Math.round(holder.heldFor * 100),
  };
}

/** Where two replies differ, without all that is the same. */
function differences(redis: unknown, memory: unknown, path = 'reply'): string[] {
  if (isDeepStrictEqual(redis, memory)) return [];
  if (!isObject(redis) || !isObject(memory)) {
    return [`${path}: Redis ${JSON.stringify(redis)}, memory ${JSON.stringify(memory)}`];
  }
  const keys = new Set([...Object.keys(redis), ...Object.keys(memory)]);
  return [...keys].flatMap((key) => {
    return differences(Reflect.get(redis, key), Reflect.get(memory, key), `${path}.${key}`);
  });
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
