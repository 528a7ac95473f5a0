import type { AcquireReply } from '../backends/backend.js';
import { withTimeout } from '../time/call-timeout.js';
import { instant, nextTick } from '../time/clock.js';
import type { Call, Part } from './batcher.js';
import { MOST_IDS } from './batcher.js';
import type { Lease } from './lease.js';
import type { AcquireItem, Caller } from './operations.js';
import { acquireCalls, deliverAcquire } from './operations.js';
import type { Request } from './request.js';
import type { LocalPermits } from './local-permits.js';

/** One semaphore of several, and how many of its permits are wanted. */
export interface TogetherPart {
  readonly local: LocalPermits;
  readonly permits: number;
}

/**
 * One try for permits of several semaphores in one call: all of them or none.
 * @returns undefined when one was not free; `unable` when no single call can do it
 * @throws what ended the try; what the backend may hold for it is withdrawn
 */
export function acquireTogether(
  parts: readonly TogetherPart[],
  signal: AbortSignal | undefined,
): Promise<readonly Lease[] | undefined> | 'unable' {
  if (!canTakeTogether(parts)) return 'unable';
  const requests = parts.map(({ local, permits }) =>
    local.newRequest({ permits, timeout: undefined, signal }),
  );
  // An aborted caller does not wait for the call.
  void send(requests);
  return allOrNone(requests);
}

function canTakeTogether(parts: readonly TogetherPart[]): boolean {
  const [first] = parts;
  if (first === undefined || parts.length === 1 || parts.length > MOST_IDS) return false;
  const { client, lane, key } = first.local.link;
  const places = new Set(parts.map(({ local }) => local.link.place));
  const fits = ({ local: { link }, permits }: TogetherPart): boolean =>
    link.client === client &&
    link.lane === lane &&
    link.key.prefix === key.prefix &&
    link.options.rate === undefined &&
    permits === 1;
  const isSharable = places.size === parts.length && parts.every(fits);
  return client.backend.acquireTogether !== undefined && isSharable;
}

/** In a call that is shared with no other. */
async function send(requests: readonly Request[]): Promise<void> {
  // Behind what was given back before, in the same turn.
  await new Promise<void>((resolve) => nextTick(resolve));
  const [first] = requests;
  if (first === undefined) return;
  const { backend, clock } = first.link.client;
  const timeoutMs = Math.min(...requests.map(({ link }) => link.callTimeoutMs));
  const call = { operation: 'acquire', number: 0, sent: { monotonic: 0, wall: 0 }, late: false };
  if (!requests.map((request) => request.leave(call)).every(Boolean)) return refuseAll(requests);
  const parts = requests.map((request) => ({ owner: request.link, items: [request] }));
  try {
    call.sent = instant(clock);
    const calls = acquireCalls(parts, call.sent.monotonic, timeoutMs);
    const taking = backend.acquireTogether?.(calls) ?? Promise.resolve(undefined);
    const late = { ...call, late: true };
    const onLate = (replies: readonly AcquireReply[] = []): void =>
      deliverAll(parts, replies, late);
    const replies = await withTimeout(clock, timeoutMs, taking).catch((error: unknown) => {
      void taking.then(onLate).catch(() => undefined);
      throw error;
    });
    if (replies === undefined) refuseAll(requests);
    else deliverAll(parts, replies, call);
  } catch (error) {
    // A backend, or a clock of the user's own, may throw at once.
    for (const request of requests) request.fail(error, call);
  }
}

function refuseAll(requests: readonly Request[]): void {
  for (const request of requests) request.refuse();
}

function deliverAll(
  parts: readonly Part<Caller, AcquireItem>[],
  replies: readonly AcquireReply[],
  call: Call,
): void {
  for (const [i, part] of parts.entries()) {
    const reply = replies[i];
    if (reply === undefined) throw new Error('the backend sent fewer replies than it got calls');
    deliverAcquire(part, reply, call);
  }
}

/** What was granted beside a failure goes back. */
async function allOrNone(requests: readonly Request[]): Promise<readonly Lease[] | undefined> {
  const outcomes = await Promise.allSettled(requests.map(({ outcome }) => outcome));
  const leases = outcomes.flatMap((outcome) =>
    outcome.status === 'fulfilled' ? (outcome.value ?? []) : [],
  );
  if (leases.length === requests.length) return leases;
  for (const lease of leases) lease.drop();
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  return undefined;
}
