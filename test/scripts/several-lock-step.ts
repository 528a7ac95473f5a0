import { expect } from 'chai';

import type {
  AcquireReply,
  AcquireVerdict,
  Call,
  EndedTicket,
  PushedGrant,
  PushedTurn,
  SemaphoreKey,
} from '../../src/backends/backend.js';
import { WAITER_LEASE_MS } from '../../src/backends/protocol.js';
import { compare, plain } from './lock-step.js';
import type { FullBackend, RedisFixture } from './port-fixture.js';
import { MemoryFixture, request } from './port-fixture.js';

/** What a call says of one semaphore. */
export interface Terms {
  readonly key: SemaphoreKey;
  readonly client: string;
  readonly limit: number;
  readonly ttl: number;
  readonly label: string;
}

export interface Asking extends Terms {
  readonly asks: readonly { readonly id: string; readonly how: 'wait' | 'try' | 'again' }[];
}

export interface Naming extends Terms {
  readonly ids: readonly string[];
}

/** One backend on its way through a program. */
class Side {
  readonly backend: FullBackend;
  readonly tokens = new Map<string, number>();
  readonly arrivals = new Map<string, number | undefined>();
  /** What was pushed to each client, by semaphore. */
  readonly pushed = new Map<string, unknown[]>();

  constructor(backend: FullBackend) {
    this.backend = backend;
  }

  async acquire(entries: readonly Asking[], notAfter?: number): Promise<readonly AcquireReply[]> {
    const calls = entries.map(({ asks, ...terms }) => ({
      ...terms,
      notAfter,
      requests: asks.map(({ id, how }) =>
        request(id, how === 'again' ? (this.arrivals.get(id) ?? 'wait') : how),
      ),
    }));
    const replies = await this.backend.acquire(calls);
    entries.forEach(({ asks }, i) => this.#note(asks, replies[i]));
    return replies;
  }

  /** Undefined: nothing was taken. Left out of the result: the backend cannot. */
  async together(entries: readonly Asking[], notAfter?: number) {
    if (this.backend.acquireTogether === undefined) return undefined;
    const calls = entries.map(({ asks, ...terms }) => {
      return { ...terms, notAfter, requests: asks.map(({ id }) => request(id, 'try')) };
    });
    const replies = await this.backend.acquireTogether(calls);
    entries.forEach(({ asks }, i) => this.#note(asks, replies?.[i]));
    return replies;
  }

  async extend(entries: readonly Naming[], old: boolean) {
    return this.backend.extend(
      entries.map((entry) => ({
        ...entry,
        fencingTokens: entry.ids.map((id) => (this.tokens.get(id) ?? 1) - (old ? 1 : 0)),
      })),
    );
  }

  pushGrants(client: string, grants: readonly PushedGrant[], name: string): void {
    for (const grant of grants) {
      this.tokens.set(grant.id, grant.fencingToken);
      this.#push(`${name} to ${client}`, plain(grant));
    }
  }

  pushEnded(client: string, ended: readonly EndedTicket[], name: string): void {
    this.#push(`${name} to ${client}`, ended);
  }

  pushTurn(client: string, turn: PushedTurn, name: string): void {
    this.#push(`turns of ${name} to ${client}`, plain(turn));
  }

  /**
   * Ids of each semaphore in the order of their last tokens, and of their places: `idsOf` has those
   * of one.
   */
  orderOf(isOf: (id: string) => boolean): string[][] {
    return [this.tokens, this.arrivals].map((numbers) =>
      [...numbers]
        .filter(([id]) => isOf(id))
        .toSorted(([, a = 0], [, b = 0]) => a - b)
        .map(([id]) => id),
    );
  }

  #note(asks: Asking['asks'], reply: AcquireReply | undefined): void {
    for (const { id, fencingToken } of reply?.grants ?? []) this.tokens.set(id, fencingToken);
    reply?.verdicts.forEach((verdict: AcquireVerdict, i) => {
      const id = asks[i]?.id ?? '';
      if (verdict.kind === 'granted') this.tokens.set(id, verdict.fencingToken);
      if (verdict.kind === 'queued') this.arrivals.set(id, verdict.arrival);
    });
  }

  #push(what: string, told: unknown): void {
    this.pushed.set(what, [...(this.pushed.get(what) ?? []), told]);
  }
}

/**
 * Both backends get the same calls of several semaphores at the same time, and must say the same.
 */
export class SharedCalls {
  readonly memory: Side;
  readonly redis: Side;
  readonly keys: readonly SemaphoreKey[];
  /** How often Redis took several tickets together, and how often it took none. */
  readonly together = { taken: 0, refused: 0 };
  readonly #fixture: RedisFixture;

  constructor(fixture: RedisFixture, keys: readonly SemaphoreKey[], clients: readonly string[]) {
    this.#fixture = fixture;
    this.keys = keys;
    this.redis = new Side(fixture.backend);
    this.memory = new Side(new MemoryFixture({ time: fixture.time }).backend);
    for (const client of clients) {
      this.memory.backend.listen(client, fixture.key.prefix, {
        onGrants: (grants, name) => this.memory.pushGrants(client, grants, name),
        onEnded: (ended, name) => this.memory.pushEnded(client, ended, name),
        onTurn: (turn, name) => this.memory.pushTurn(client, turn, name),
        onHealth: () => {},
      });
    }
  }

  get now(): number {
    return this.#fixture.time.now;
  }

  async acquire(entries: readonly Asking[], notAfter?: number): Promise<readonly AcquireReply[]> {
    const ours = await this.memory.acquire(entries, notAfter);
    const theirs = await this.redis.acquire(entries, notAfter);
    // Those who do not wait need not know when the next ticket expires.
    const shown = theirs.map((reply, i) => {
      const waits = ours[i]?.nearestExpiry !== undefined;
      return { ...reply, nearestExpiry: waits ? reply.nearestExpiry : undefined };
    });
    compare(shown, ours);
    return ours;
  }

  /**
   * Redis may take nothing where it would have to look twice. Where it takes, so does memory; and
   * neither where one is not free.
   */
  async acquireTogether(entries: readonly Asking[], notAfter?: number) {
    const free = (await Promise.all(entries.map((entry) => this.#isFree(entry)))).every(Boolean);
    const theirs = await this.redis.together(entries, notAfter);
    this.together[theirs === undefined ? 'refused' : 'taken'] += 1;
    if (theirs !== undefined || !free) {
      const ours = await this.memory.together(entries, notAfter);
      compare(
        theirs?.map((reply) => ({ ...reply, nearestExpiry: undefined })),
        ours,
      );
    }
    return theirs;
  }

  async extend(entries: readonly Naming[], old: boolean): Promise<void> {
    await this.#both((side) => side.extend(entries, old));
  }

  async release(entries: readonly Naming[]): Promise<void> {
    await this.#both(({ backend }) => backend.release(entries));
  }

  async setLimit(call: Call, newLimit: number): Promise<void> {
    await this.#both(({ backend }) => backend.setLimit({ ...call, newLimit }));
  }

  async inspect(): Promise<void> {
    for (const key of this.keys) {
      await this.#both(async ({ backend }) => {
        const { holders, ...found } = await backend.inspect({ key, limit: 1 });
        const idle = found.held + found.waiting === 0 && found.limitFrom !== 'setLimit';
        // How long the limit of an idle semaphore is remembered is each backend's own.
        const state = idle ? { ...found, limit: 1, limitFrom: 'options' } : found;
        // Since when it is held is read off the token, which in memory rises with those of other
        // semaphores.
        const shown = holders.map(({ heldFor: _, ...holder }) => holder);
        return { ...state, holders: shown.toSorted((a, b) => (a.id < b.id ? -1 : 1)) };
      });
    }
  }

  /**
   * At the end: what was pushed, and in which order. `isOf`: whether an id is of the semaphore with
   * that number.
   */
  compareOrder(isOf: (id: string, semaphore: number) => boolean): void {
    expect(this.redis.pushed, 'pushed').to.deep.equal(this.memory.pushed);
    this.keys.forEach((_, number) => {
      const of = (id: string): boolean => isOf(id, number);
      compare(this.redis.orderOf(of), this.memory.orderOf(of));
    });
  }

  /** Whether its tickets are held already, or free by what memory says. */
  async #isFree({ key, limit: given, asks }: Asking): Promise<boolean> {
    const state = await this.memory.backend.inspect({ key, limit: given });
    const { held, waiting, holders } = state;
    const limit = state.limitFrom === 'setLimit' ? state.limit : given;
    const own = asks.every(({ id }) => holders.some((holder) => holder.id === id));
    return own || (waiting === 0 && held + asks.length <= limit);
  }

  async #both(call: (side: Side) => Promise<unknown>): Promise<void> {
    const expected = await call(this.memory);
    compare(await call(this.redis), expected);
  }
}

/** Whether a client was silent for so long that its requests may be gone. */
export function isLapsed(queuedAt: number, now: number): boolean {
  return now - queuedAt >= WAITER_LEASE_MS;
}
