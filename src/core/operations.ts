import type * as port from '../backends/backend.js';
import { ServerClock } from '../time/server-clock.js';
import { Batcher, type Call, type Item, type Share } from './batcher.js';
import type { Client } from './client.js';
import type { Lease } from './lease.js';
import type { Release } from './release.js';
import type { Request } from './request.js';
import type { SemaphoreLink } from './semaphore-link.js';

/** A renewal costs the server a fifth of a grant. */
const MOST_RENEWALS = 500;

/** Whether a ticket was extended, or why not. */
export type ExtendVerdict = 'extended' | 'missing' | 'revoked';

/** The kinds differ by their types. A boolean: whether a release found a live ticket. */
export type Verdict = port.AcquireVerdict | ExtendVerdict | boolean;

type AcquireShare = Share<SemaphoreLink, Request>;

/** The batchers of the semaphores of one lane whose calls have the same time limit. */
export interface Batchers {
  readonly acquires: Batcher<SemaphoreLink, Request, port.AcquireReply>;
  readonly renewals: Batcher<SemaphoreLink, Lease, port.ExtendReply>;
  readonly releases: Batcher<SemaphoreLink, Release, port.ReleaseReply>;
  /** Semaphores of one lane are on one server. */
  readonly serverClock: ServerClock;
}

// Not written where they are used: each use would make a function.
const idOf = ({ id }: Release): string => id;
const timeoutOf = ({ callTimeoutMs }: Lease): number => callTimeoutMs;
const hasSpent = ({ spent }: Release): boolean => spent !== undefined;

export function batchersOf(client: Client, callTimeoutMs: number): Batchers {
  const { backend, clock } = client;
  return {
    acquires: new Batcher(client, callTimeoutMs, {
      name: 'acquire',
      run: (shares) => backend.acquire(acquireCalls(shares, clock.monotonic(), callTimeoutMs)),
      deliver: deliverAcquire,
    }),
    renewals: new Batcher(client, callTimeoutMs, {
      name: 'extend',
      mostIds: MOST_RENEWALS,
      run: (shares) => backend.extend(shares.map(extendCall)),
      timeoutOf: (shares) => Math.min(...shares.flatMap(({ items }) => items.map(timeoutOf))),
      deliver: answering(extended),
    }),
    releases: new Batcher(client, callTimeoutMs, {
      name: 'release',
      run: (shares) => backend.release(shares.map(releaseCall)),
      deliver: answering(({ released }: port.ReleaseReply, index) => released[index] === true),
    }),
    serverClock: new ServerClock(clock),
  };
}

/** Gives a reply to its owner, and each verdict to its item. */
function answering<I extends Item<V>, R extends port.Reply, V>(
  verdictOf: (reply: R, index: number, item: I) => V | undefined,
) {
  return ({ owner, items }: Share<SemaphoreLink, I>, reply: R, call: Call): void => {
    owner.observe(reply, call.sent, call.operation === 'acquire' && !call.late);
    // By index: an iterator costs more on this path.
    for (let item = items[0], i = 0; item !== undefined; item = items[++i]) {
      const verdict = verdictOf(reply, i, item);
      if (verdict === undefined) throw new Error('the backend gave no verdict');
      item.answer(verdict, call);
    }
  };
}

const answerAcquire = answering(
  ({ verdicts }: port.AcquireReply, index, _request: Request) => verdicts[index],
);

export function deliverAcquire(share: AcquireShare, reply: port.AcquireReply, call: Call): void {
  answerAcquire(share, reply, call);
  // A request that reports its position asks as often as others do.
  const asksProgress = reply.isTurn === true && share.items.some((item) => item.asksProgress);
  share.owner.scheduleTry(reply.askAgainAt, reply.isTurn, asksProgress);
}

function extended(reply: port.ExtendReply, index: number, { id }: Lease): ExtendVerdict {
  if (reply.extended[index] === true) return 'extended';
  return reply.revoked?.includes(id) === true ? 'revoked' : 'missing';
}

function extendCall({ owner, items }: Share<SemaphoreLink, Lease>): port.ExtendCall {
  const fencingTokens = items.map(({ fencingToken }) => fencingToken);
  return { ...owner.call, ttl: owner.options.ttl, ids: items.map(idOf), fencingTokens };
}

function releaseCall({ owner, items }: Share<SemaphoreLink, Release>): port.ReleaseCall {
  const spent = items.some(hasSpent) ? items.map((item) => item.spent) : undefined;
  // Field by field: a spread costs a lone pair 400 bytes.
  const { key, limit, client } = owner.call;
  return { key, limit, client, ids: items.map(idOf), spent };
}

/**
 * They name the server time after which they must change nothing, once the server's clock is known:
 * their callers have an error by then.
 */
export function acquireCalls(
  shares: readonly AcquireShare[],
  now: number,
  callTimeoutMs: number,
): port.AcquireCall[] {
  const wantedFor = Math.min(timeWanted(shares, now), callTimeoutMs);
  const notAfter = shares[0]?.owner.batchers.serverClock.latestIn(wantedFor, now);
  const calls = Array<port.AcquireCall>(shares.length);
  // By index and field by field: an iterator and a spread cost more on this path.
  for (let share = shares[0], i = 0; share !== undefined; share = shares[++i]) {
    const { owner, items } = share;
    const { key, limit, client } = owner.call;
    const { ttl, label, maxWaiting, rate, budgets, groupLimit } = owner.options;
    calls[i] = {
      key,
      limit,
      client,
      ttl,
      label,
      notAfter,
      maxWaiting,
      rate,
      budgets,
      groupLimit,
      requests: items,
    };
  }
  return calls;
}

/** For how long callers want their permits, in milliseconds. */
function timeWanted(shares: readonly AcquireShare[], now: number): number {
  let last = now + 1;
  for (let share = shares[0], i = 0; share !== undefined; share = shares[++i])
    for (const { deadline } of share.items) last = Math.max(last, deadline);
  return last - now;
}
