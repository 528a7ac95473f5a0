import type { AcquireReply } from '../backends/backend.js';
import type { Call, Part } from './batcher.js';
import { Batcher, MOST_IDS } from './batcher.js';
import type { Client } from './client.js';
import type { Lease } from './lease.js';
import { acquireCalls, deliverAcquire } from './operations.js';
import { Request } from './request.js';
import type { SemaphoreLink } from './semaphore-link.js';

/** One of them was not free: none was taken. */
const BUSY = 'busy' as const;

/** One semaphore of several, and how many of its permits are wanted. */
export interface TogetherPart {
  readonly link: SemaphoreLink;
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
  const link = parts[0]?.link;
  if (link === undefined || !canTakeTogether(parts, link)) return 'unable';
  const requests = parts.map((part) => new Request(part.link, { permits: part.permits, signal }));
  send(requests, link.client);
  return allOrNone(requests);
}

function canTakeTogether(parts: readonly TogetherPart[], first: SemaphoreLink): boolean {
  if (parts.length === 1 || parts.length > MOST_IDS) return false;
  const places = new Set(parts.map((part) => part.link.place));
  const fits = ({ link, permits }: TogetherPart): boolean => {
    const { rate, budgets, groupLimit } = link.options;
    const isPlain = (rate ?? budgets ?? groupLimit) === undefined && permits === 1;
    const isNear = link.client === first.client && link.lane === first.lane;
    return isPlain && isNear && link.key.prefix === first.key.prefix;
  };
  const isSharable = places.size === parts.length && parts.every(fits);
  return first.backend.acquireTogether !== undefined && isSharable;
}

/** In a call that is shared with no other, behind what was given back before in the same turn. */
function send(requests: readonly Request[], { backend, clock }: Client): void {
  const callTimeoutMs = Math.min(...requests.map(({ link }) => link.callTimeoutMs));
  const run = async (parts: readonly Part<SemaphoreLink, Request>[]) => {
    const calls = acquireCalls(parts, clock.monotonic(), callTimeoutMs);
    // An aborted request has stayed behind, and then none is asked for.
    const replies = calls.length === requests.length && (await backend.acquireTogether?.(calls));
    return replies || parts.map((): typeof BUSY => BUSY);
  };
  const operation = { name: 'acquire', mostIds: MOST_IDS, run, deliver };
  // An error is of no semaphore alone: none is asked for again by itself.
  const options = { clock, callTimeoutMs, isRetryable: () => true };
  const batcher = new Batcher<SemaphoreLink, Request, AcquireReply | typeof BUSY>(
    operation,
    options,
  );
  for (const request of requests) batcher.bundleOf(request.link).add(request);
}

function deliver(
  part: Part<SemaphoreLink, Request>,
  reply: AcquireReply | typeof BUSY,
  call: Call,
): void {
  if (reply === BUSY) for (const request of part.items) request.refuse();
  else deliverAcquire(part, reply, call);
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
