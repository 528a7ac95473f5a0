import type { Backend, ManualClock } from '../../../src/index.js';
import { MemoryBackend } from '../../../src/index.js';
import { tamperingBy } from './redis-row.js';
import type { Passage, Row } from '../row.js';

const LACKS = {
  keys: 'it has no keys',
  'server errors': 'it has no commands that fail',
  server: 'it has no server',
};
/** Milliseconds between two looks. */
const STEP = 5;

export function memoryRow(clock?: ManualClock): Row {
  return {
    title: clock === undefined ? 'memory' : 'memory with a manual clock',
    lacks: LACKS,
    ...(clock === undefined ? {} : { passage: manualPassage(clock) }),
    open: () => {
      const target = new MemoryBackend(clock === undefined ? {} : { clock });
      const tickets = tamperingBy(target);
      return Promise.resolve({ target, other: otherDoor(target), tickets, close: async () => {} });
    },
  };
}

/**
 * Another object, hence another client with other waiters, another queue in the process and another
 * inbox.
 */
function otherDoor(backend: MemoryBackend): Backend {
  const calls = ['acquire', 'extend', 'release', 'inspect'];
  calls.push('setLimit', 'setRate', 'setGroupLimit', 'addPermits');
  const others = ['adopt', 'revoke', 'noteStripes', 'listen'];
  const bound = [...calls, ...others].map((name) => {
    const method = Reflect.get(backend, name) as (...args: unknown[]) => unknown;
    return [name, method.bind(backend)] as const;
  });
  return { clock: backend.clock, ...Object.fromEntries(bound) } as unknown as Backend;
}

/** Time that passes only as far as a case says. */
function manualPassage(clock: ManualClock): Passage {
  return {
    late: STEP,
    now: () => clock.monotonic(),
    pass: (duration) => clock.advance(duration),
    stall: (duration) => clock.stall(duration),
    within: async (duration, promise) => {
      let ended = false;
      const end = (): boolean => (ended = true);
      promise.then(end, end);
      const settled = (): boolean => ended;
      for (let passed = 0; passed < duration && !settled(); passed += STEP) {
        await clock.advance(STEP);
      }
      if (settled()) return promise;
      throw new Error(`not settled when ${duration} ms had passed`);
    },
  };
}
