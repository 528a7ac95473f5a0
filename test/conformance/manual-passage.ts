import type { ManualClock } from '../../src/index.js';
import type { Passage } from './row.js';

/** Milliseconds between two looks. */
const STEP = 5;

/** Time that passes only as far as a case says. */
export function manualPassage(clock: ManualClock): Passage {
  return {
    late: STEP,
    now: () => clock.monotonic(),
    pass: (duration) => clock.advance(duration),
    stall: (duration) => clock.stall(duration),
    within: (duration, promise) => advancing(clock, duration, promise),
  };
}

async function advancing<T>(clock: ManualClock, duration: number, promise: Promise<T>): Promise<T> {
  const ended = new AbortController();
  const end = (): void => ended.abort();
  promise.then(end, end);
  for (let passed = 0; passed < duration; passed += STEP) {
    if (ended.signal.aborted) return promise;
    await clock.advance(STEP);
  }
  if (ended.signal.aborted) return promise;
  throw new Error(`not settled when ${duration} ms had passed`);
}
