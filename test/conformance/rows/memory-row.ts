import { type Backend, type ManualClock, MemoryBackend } from '../../../src/index.js';
import type { Passage, Row } from '../row.js';

const LACKS = {
  keys: 'it has no keys',
  server: 'it has no server',
};

export function memoryRow(clock?: ManualClock): Row {
  return {
    title: clock === undefined ? 'memory' : 'memory with a manual clock',
    lacks: LACKS,
    ...(clock === undefined ? {} : { passage: manualPassage(clock) }),
    open: () => {
      const target = new MemoryBackend(clock === undefined ? {} : { clock });
      return Promise.resolve({ target, other: otherDoor(target), close: async () => {} });
    },
  };
}

/**
 * Another object, hence another client with other waiters, another queue in the process and another
 * inbox.
 */
export function otherDoor(backend: MemoryBackend): Backend {
  return new Proxy(backend, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** Time that passes only as far as a case says. */
function manualPassage(clock: ManualClock): Passage {
  return {
    late: 0,
    now: () => clock.monotonic(),
    pass: (duration) => clock.advance(duration),
    stall: (duration) => clock.stall(duration),
    within: async (duration, promise) => (await Promise.all([promise, clock.advance(duration)]))[0],
  };
}
