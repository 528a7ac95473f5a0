import type { AcquireReply } from '../backends/backend.js';
import { withTimeout } from '../time/call-timeout.js';
import { Batcher, MOST_IDS } from './batcher.js';
import type { Lease } from './lease.js';
import { acquireCalls, deliverAcquire } from './operations.js';
import { Request } from './request.js';
import type { SemaphoreLink } from './semaphore-link.js';

/** Null: one of them was not free, and none was taken. */
type Reply = AcquireReply | null;

/** One semaphore of several, and how many of its permits are wanted. */
export interface Wanted {
  readonly link: SemaphoreLink;
  readonly permits: number;
}

/**
 * One try for permits of several semaphores in one call: all of them or none. Tickets that the
 * backend may hold for a try that failed are withdrawn.
 * @returns a lease for each semaphore, undefined where a permit was not free; `unable` when no
 *   single call can do it
 */
export function acquireTogether(
  wanted: readonly Wanted[],
  signal: AbortSignal | undefined,
): readonly Promise<Lease | undefined>[] | 'unable' {
  const link = wanted[0]?.link;
  if (link === undefined || !canTakeTogether(wanted, link)) return 'unable';
  const requests = wanted.map((each) => new Request(each.link, { permits: each.permits, signal }));
  const { backend, clock, callTimeoutMs } = link;
  // An error is of no semaphore alone: none is asked for again by itself.
  const host = { clock, isRetryable: () => true };
  // In a separate call, behind the releases that were made before in the same turn.
  const batcher = new Batcher<SemaphoreLink, Request, Reply>(host, callTimeoutMs, {
    name: 'acquire',
    run: (shares) => {
      const calls = acquireCalls(shares, clock.monotonic(), callTimeoutMs);
      // An aborted request has stayed behind, and then none is asked for.
      const asking = calls.length === requests.length && backend.acquireTogether?.(calls);
      const replies = Promise.resolve(asking).then((all) => all || shares.map(() => null));
      // The reply may show tickets to give back after a close, which does not wait for a late
      // reply.
      const ended = withTimeout(clock, callTimeoutMs, replies);
      for (const { owner } of shares) owner.releases.drainAfter(ended);
      return replies;
    },
    deliver: (share, reply, call) => {
      if (reply === null) for (const request of share.items) request.refuse();
      else deliverAcquire(share, reply, call);
    },
  });
  for (const request of requests) batcher.add({ owner: request.link, items: [] }, request);
  return requests.map(({ outcome }) => outcome);
}

function canTakeTogether(wanted: readonly Wanted[], first: SemaphoreLink): boolean {
  if (wanted.length === 1 || wanted.length > MOST_IDS) return false;
  if (first.backend.acquireTogether === undefined) return false;
  const semaphores = new Set(wanted.map(({ link }) => link.name));
  const fits = ({ link, permits }: Wanted): boolean => {
    const { rate, budgets, groupLimit } = link.options;
    const isPlain = (rate ?? budgets ?? groupLimit) === undefined && permits === 1;
    return isPlain && link.batchers === first.batchers;
  };
  return semaphores.size === wanted.length && wanted.every(fits);
}
