import type { AcquireCall } from './backend.js';
import { placeOf } from './place-of.js';

/**
 * The calls as one that takes all or nothing: none acts after the earliest moment that any of them
 * names. Undefined where they cannot be one: each must be of another semaphore, and have one
 * request, for one permit, that does not wait, and no rate, budget or group limit.
 */
export function allOrNone(calls: readonly AcquireCall[]): AcquireCall[] | undefined {
  const semaphores = new Set(calls.map(({ key }) => placeOf(key)));
  const simple = calls.every(({ rate, budgets, groupLimit, requests: [first, ...more] }) => {
    const isPlain = first?.permits === 1 && !first.wait && first.arrival === undefined;
    return isPlain && (rate ?? budgets ?? groupLimit) === undefined && more.length === 0;
  });
  if (!simple || semaphores.size < calls.length) return undefined;
  const earliest = Math.min(...calls.map(({ notAfter = Infinity }) => notAfter));
  const notAfter = earliest === Infinity ? undefined : earliest;
  return calls.map((call) => ({ ...call, notAfter }));
}
