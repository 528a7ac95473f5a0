import type { Backend } from '../backends/backend.js';
import { formatValue } from './shown.js';
import { rangeError, typeError } from './validation.js';

/** What a target cannot do is refused at once, not when it is needed. */
export function checkMostPermits({ mostPermits = Infinity }: Backend, permits: number): void {
  if (permits <= mostPermits) return;
  throw rangeError(`permits: expected at most ${mostPermits} on several masters, got ${permits}`);
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
