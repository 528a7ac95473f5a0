import type {
  AcquireCall,
  AcquireReply,
  AcquireVerdict,
  Backend,
  Budgets,
  Call as PortCall,
  Costs,
  ExtendReply,
  Rate,
  ReleaseReply,
  Reply,
  TicketRequest,
} from '../backends/backend.js';
import type { Clock, Instant } from '../time/clock.js';
import type { ServerClock } from '../time/server-clock.js';
import type { Batcher, Item, Operation, Owner, Part } from './batcher.js';
import { MOST_IDS } from './batcher.js';

/** A renewal costs the server a fifth of a grant. */
const MOST_RENEWALS = 500;

/** A semaphore object, as its calls know it. */
export interface Caller extends Owner {
  readonly call: PortCall;
  readonly ttl: number;
  readonly label: string;
  readonly maxWaiting: number | undefined;
  readonly rate: Rate | undefined;
  readonly budgets: Budgets | undefined;
  readonly groupLimit: number | undefined;
  readonly serverClock: ServerClock;
  /** Takes what a reply says beside its verdicts. `sent`: the moment before the call left. */
  observe(reply: Reply, sent: Instant): void;
  /** Server time at which a request of it should ask again; undefined: no such time is known. */
  askAgainAt: number | undefined;
}

/** Whether a ticket was extended, or why not. */
export type ExtendVerdict = 'extended' | 'missing' | 'revoked';

/** Whether a release found a live ticket. */
export type ReleaseVerdict = boolean;

/** The kinds differ by their types. */
export type Verdict = AcquireVerdict | ExtendVerdict | ReleaseVerdict;

export interface AcquireItem extends TicketRequest, Item<AcquireVerdict> {
  /** Monotonic time until which its caller wants it. */
  readonly deadline: number;
}

export interface ExtendItem extends Item<ExtendVerdict> {
  readonly id: string;
  readonly fencingToken: number;
}

export interface ReleaseItem extends Item<ReleaseVerdict> {
  readonly id: string;
  readonly spent: Costs | undefined;
}

type Acquire = Operation<Caller, AcquireItem, AcquireReply>;
type Extend = Operation<Caller, ExtendItem, ExtendReply>;
type Release = Operation<Caller, ReleaseItem, ReleaseReply>;

export type Acquires = Batcher<Caller, AcquireItem, AcquireReply>;
export type Renewals = Batcher<Caller, ExtendItem, ExtendReply>;
export type Releases = Batcher<Caller, ReleaseItem, ReleaseReply>;

export function acquireOperation(backend: Backend, clock: Clock, callTimeoutMs: number): Acquire {
  return {
    name: 'acquire',
    mostIds: MOST_IDS,
    // A request that waits already costs the server twice as much as a new one.
    weightOf: (items) =>
      items.reduce((sum, { arrival }) => sum + (arrival === undefined ? 1 : 2), 0),
    run: (parts) => backend.acquire(acquireCalls(parts, clock.monotonic(), callTimeoutMs)),
    deliver: deliverAcquire,
  };
}

export function extendOperation(backend: Backend): Extend {
  return {
    name: 'extend',
    mostIds: MOST_RENEWALS,
    weightOf: ({ length }) => length,
    run: (parts) =>
      backend.extend(
        parts.map(({ owner: { call, ttl }, items }) => ({
          ...call,
          ttl,
          ids: items.map(({ id }) => id),
          fencingTokens: items.map(({ fencingToken }) => fencingToken),
        })),
      ),
    deliver: ({ owner, items }, reply, call) => {
      owner.observe(reply, call.sent);
      const { extended, revoked = [] } = reply;
      let place = 0;
      for (const item of items) {
        const isExtended = extended[place++] === true;
        const missing = revoked.includes(item.id) ? 'revoked' : 'missing';
        item.answer(isExtended ? 'extended' : missing, call);
      }
    },
  };
}

export function releaseOperation(backend: Backend): Release {
  return {
    name: 'release',
    mostIds: MOST_IDS,
    weightOf: ({ length }) => length,
    run: (parts) =>
      backend.release(
        parts.map(({ owner: { call }, items }) => {
          const { key, limit, client } = call;
          const hasSpent = items.some((item) => item.spent !== undefined);
          const spent = hasSpent ? items.map((item) => item.spent) : undefined;
          return { key, limit, client, ids: items.map(({ id }) => id), spent };
        }),
      ),
    deliver: ({ owner, items }, reply, call) => {
      owner.observe(reply, call.sent);
      let place = 0;
      for (const item of items) item.answer(reply.released[place++] === true, call);
    },
  };
}

export const deliverAcquire: Acquire['deliver'] = ({ owner, items }, reply, call) => {
  owner.observe(reply, call.sent);
  owner.askAgainAt = reply.askAgainAt;
  let place = 0;
  for (const item of items) {
    const verdict = reply.verdicts[place++];
    if (verdict === undefined) item.fail(new Error('the backend gave no verdict'), call);
    else item.answer(verdict, call);
  }
};

/**
 * Each call names the server time after which it must change nothing, once the server's clock is
 * known: its callers have an error by then.
 */
export function acquireCalls(
  parts: readonly Part<Caller, AcquireItem>[],
  now: number,
  callTimeoutMs: number,
): AcquireCall[] {
  const serverNow = parts[0]?.owner.serverClock.latestIn(0);
  return parts.map(({ owner, items }) => {
    const wantedFor = Math.min(timeWanted(items, now), callTimeoutMs);
    const notAfter = serverNow === undefined ? undefined : serverNow + wantedFor;
    const { call, ttl, label, maxWaiting, rate, budgets, groupLimit } = owner;
    const { key, limit, client } = call;
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
function timeWanted(items: readonly AcquireItem[], now: number): number {
  let last = now + 1;
  for (const { deadline } of items) last = Math.max(last, deadline);
  if (last === Infinity) return last;
  const step = 2 ** (Math.floor(Math.log2(last - now)) - 5);
  return Math.ceil((last - now) / step) * step;
}
