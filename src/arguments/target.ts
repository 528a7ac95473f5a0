import type { Backend, RequestOrder } from '../backends/backend.js';
import { formatValue } from './shown.js';
import { rangeError, typeError } from './validation.js';

interface Asked {
  readonly permits: number;
  readonly order?: RequestOrder | undefined;
  readonly onWaiting?: unknown;
  readonly cost?: unknown;
}

/** What a target cannot do is refused at once, not when it is needed. */
export function checkMostPermits({ mostPermits = Infinity }: Backend, permits: number): void {
  if (permits <= mostPermits) return;
  throw rangeError(`permits: expected at most ${mostPermits} on several masters, got ${permits}`);
}

/** What an `acquire` asks for. */
export function checkRequest(backend: Backend, request: Asked): void {
  const { permits, order, onWaiting, cost } = request;
  checkMostPermits(backend, permits);
  const group = order?.group === '' ? undefined : order?.group;
  if (backend.hasNoQueue !== true) return;
  refuseWithoutQueue(backend, { group, priority: order?.priority, onWaiting, cost });
}

/** Options that need a queue; undefined: not given. */
export function refuseWithoutQueue(backend: Backend, options: Record<string, unknown>): void {
  if (backend.hasNoQueue !== true) return;
  for (const [option, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const why = 'expected none, because a quorum has no queue';
    throw typeError(`${option}: ${why}, got ${formatValue(value)}`);
  }
}
