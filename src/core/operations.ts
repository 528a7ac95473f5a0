import type {
  AcquireCall,
  AcquireReply,
  AcquireVerdict,
  ExtendCall,
  ExtendReply,
  ReleaseCall,
  ReleaseReply,
  Reply,
} from '../backends/backend.js';
import type { Call, Item, Part } from './batcher.js';
import { Batcher, MOST_IDS } from './batcher.js';
import type { Client } from './client.js';
import type { Lease } from './lease.js';
import type { Release } from './release.js';
import type { Request } from './request.js';
import type { SemaphoreLink } from './semaphore-link.js';

/** A renewal costs the server a fifth of a grant. */
const MOST_RENEWALS = 500;

/** Whether a ticket was extended, or why not. */
export type ExtendVerdict = 'extended' | 'missing' | 'revoked';

/** Whether a release found a live ticket. */
export type ReleaseVerdict = boolean;

/** The kinds differ by their types. */
export type Verdict = AcquireVerdict | ExtendVerdict | ReleaseVerdict;

type AcquirePart = Part<SemaphoreLink, Request>;
type ExtendPart = Part<SemaphoreLink, Lease>;
type ReleasePart = Part<SemaphoreLink, Release>;

/** Where the calls of semaphores of one lane travel whose acquires may take equally long. */
export interface Batchers {
  readonly acquires: Batcher<SemaphoreLink, Request, AcquireReply>;
  readonly renewals: Batcher<SemaphoreLink, Lease, ExtendReply>;
  readonly releases: Batcher<SemaphoreLink, Release, ReleaseReply>;
}

// Not written where they are used: each use would make a function.
const idOf = ({ id }: { readonly id: string }): string => id;
const hasSpent = ({ spent }: Release): boolean => spent !== undefined;
/** A request that waits already costs the server twice as much as a new one. */
const addWeight = (sum: number, { arrival }: Request): number =>
  sum + (arrival === undefined ? 1 : 2);

export function batchersOf(client: Client, callTimeoutMs: number): Batchers {
  const { backend, clock } = client;
  const isRetryable = (error: unknown): boolean => client.isRetryable(error);
  const options = { clock, callTimeoutMs, isRetryable };
  const acquire = {
    name: 'acquire',
    mostIds: MOST_IDS,
    weightOf: (items: readonly Request[]) => items.reduce(addWeight, 0),
    run: (parts: readonly AcquirePart[]) =>
      backend.acquire(acquireCalls(parts, clock.monotonic(), callTimeoutMs)),
    deliver: deliverAcquire,
  };
  const extend = {
    name: 'extend',
    mostIds: MOST_RENEWALS,
    run: (parts: readonly ExtendPart[]) => backend.extend(parts.map(extendCall)),
    timeoutOf: (parts: readonly ExtendPart[]) => Math.min(...parts.map(shortestTimeout)),
    deliver: answering(extended),
  };
  const release = {
    name: 'release',
    mostIds: MOST_IDS,
    run: (parts: readonly ReleasePart[]) => backend.release(parts.map(releaseCall)),
    deliver: answering(released),
  };
  return {
    acquires: new Batcher(acquire, options),
    renewals: new Batcher(extend, options),
    releases: new Batcher(release, options),
  };
}

/** Takes what a reply says beside its verdicts, and answers each item with its own. */
function answering<I extends Item<V>, R extends Reply, V>(
  verdictOf: (reply: R, place: number, item: I) => V,
) {
  return ({ owner, items }: Part<SemaphoreLink, I>, reply: R, call: Call): void => {
    owner.observe(reply, call.sent);
    // By index: an iterator costs more on this path.
    for (let i = 0; i < items.length; i += 1) {
      const item = items[i];
      item?.answer(verdictOf(reply, i, item), call);
    }
  };
}

const answerAcquire = answering(verdictAt);

export function deliverAcquire(part: AcquirePart, reply: AcquireReply, call: Call): void {
  part.owner.askAgainAt = reply.askAgainAt;
  // A request that reports its position asks as often as others do.
  part.owner.isTurn = reply.isTurn === true && !part.items.some((item) => item.asksProgress);
  answerAcquire(part, reply, call);
}

function verdictAt({ verdicts }: AcquireReply, place: number, _item: Request): AcquireVerdict {
  const verdict = verdicts[place];
  if (verdict === undefined) throw new Error('the backend gave no verdict');
  return verdict;
}

function extended(reply: ExtendReply, place: number, { id }: Lease): ExtendVerdict {
  if (reply.extended[place] === true) return 'extended';
  return reply.revoked?.includes(id) === true ? 'revoked' : 'missing';
}

function released(reply: ReleaseReply, place: number, _item: Release): ReleaseVerdict {
  return reply.released[place] === true;
}

function shortestTimeout({ items }: ExtendPart): number {
  return Math.min(...items.map(({ callTimeoutMs }) => callTimeoutMs));
}

function extendCall({ owner: { call, options }, items }: ExtendPart): ExtendCall {
  const fencingTokens = items.map(({ fencingToken }) => fencingToken);
  return { ...call, ttl: options.ttl, ids: items.map(idOf), fencingTokens };
}

function releaseCall({ owner: { call }, items }: ReleasePart): ReleaseCall {
  const { key, limit, client } = call;
  const spent = items.some(hasSpent) ? items.map((item) => item.spent) : undefined;
  return { key, limit, client, ids: items.map(idOf), spent };
}

/**
 * Each call names the server time after which it must change nothing, once the server's clock is
 * known: its callers have an error by then.
 */
export function acquireCalls(
  parts: readonly AcquirePart[],
  now: number,
  callTimeoutMs: number,
): AcquireCall[] {
  const serverNow = parts[0]?.owner.serverClock.latestIn(0);
  return parts.map(({ owner, items }) => {
    const wantedFor = Math.min(timeWanted(items, now), callTimeoutMs);
    const notAfter = serverNow === undefined ? undefined : serverNow + wantedFor;
    const { key, limit, client } = owner.call;
    const { ttl, label, maxWaiting, rate, budgets, groupLimit } = owner.options;
    // Field by field: a spread costs several times as much on this path.
    return {
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
  });
}

/**
 * For how long the callers want what they ask for, in milliseconds. Rounded up by at most a
 * thirty-second part, so that most semaphores of a call have the same and the script gets few sets
 * of terms.
 */
function timeWanted(items: readonly Request[], now: number): number {
  let last = now + 1;
  for (const { deadline } of items) last = Math.max(last, deadline);
  if (last === Infinity) return last;
  const step = 2 ** (Math.floor(Math.log2(last - now)) - 5);
  return Math.ceil((last - now) / step) * step;
}
