import type { TicketCalls } from '../calling/ticket-calls.js';
import type { AcquireRequest } from './acquire-request.js';
import type { Lease } from './lease.js';
import type { SemaphoreEngine } from './semaphore-engine.js';

/** One semaphore of several, and how many of its permits are wanted. */
export interface TogetherPart {
  readonly engine: SemaphoreEngine;
  readonly permits: number;
}

interface Sent {
  readonly engine: SemaphoreEngine;
  readonly request: AcquireRequest;
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
  const [first] = parts;
  const calls = first?.engine.calls;
  if (calls === undefined || !parts.every(({ engine }) => engine.calls === calls)) return 'unable';
  if (parts.some(({ permits }) => permits !== 1)) return 'unable';
  if (!calls.canTakeTogether(parts.map(({ engine }) => engine.terms))) return 'unable';
  const sent = parts.map(({ engine, permits }) => {
    const request = engine.waitLoop.newRequest({ permits, timeout: undefined, signal });
    request.onSend(request.started);
    return { engine, request };
  });
  // An aborted caller does not wait for the call.
  void send(calls, sent);
  return allOrNone(sent);
}

async function send(calls: TicketCalls, sent: readonly Sent[]): Promise<void> {
  try {
    const groups = sent.map(({ engine, request }) => ({
      sender: engine.waitLoop,
      items: [request],
    }));
    if (await calls.acquireTogether(groups)) return;
    for (const { engine, request } of sent) engine.waitLoop.onRefused(request);
  } catch (error) {
    for (const { engine, request } of sent) engine.waitLoop.onFailure([request], error);
  }
}

/** What was granted beside a failure goes back. */
async function allOrNone(sent: readonly Sent[]): Promise<readonly Lease[] | undefined> {
  const outcomes = await Promise.allSettled(sent.map(({ request }) => request.outcome));
  const leases = outcomes.flatMap((outcome) =>
    outcome.status === 'fulfilled' ? (outcome.value ?? []) : [],
  );
  if (leases.length === sent.length) return leases;
  for (const { engine, request } of sent) giveBack(engine, request.lease);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  return undefined;
}

/** Nobody waits for it: what fails is retried. */
export function giveBack(engine: SemaphoreEngine, lease: Lease | undefined): void {
  if (lease !== undefined) void engine.release(lease).catch(() => undefined);
}
