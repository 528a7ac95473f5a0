import type { Backend, MemoryBackend } from '../../src/index.js';

/**
 * A process on a shared backend: it has its own name, its own queue and its own inbox. `onCall`
 * hears of what asks, releases and, where `onExtend` is left out, extends.
 */
export function processOn(
  memory: MemoryBackend,
  onCall: () => void,
  onExtend: () => void = onCall,
): Backend {
  const counted = <C, R>(call: (calls: readonly C[]) => R, heard = onCall) => {
    return (calls: readonly C[]): R => {
      heard();
      return call(calls);
    };
  };
  return {
    clock: memory.clock,
    acquire: counted((calls) => memory.acquire(calls)),
    extend: counted((calls) => memory.extend(calls), onExtend),
    release: counted((calls) => memory.release(calls)),
    setRate: (call) => memory.setRate(call),
    setGroupLimit: (call) => memory.setGroupLimit(call),
    inspect: (call) => memory.inspect(call),
    listen: (client, prefix, listener) => memory.listen(client, prefix, listener),
  };
}

export interface Use {
  readonly at: number;
  readonly spent: number;
}

/** The largest sum in any window of that length. */
export function mostIn(uses: readonly Use[], window: number): number {
  const sumFrom = (from: number): number =>
    uses.reduce((sum, { at, spent }) => (at >= from && at < from + window ? sum + spent : sum), 0);
  return Math.max(...uses.map(({ at }) => sumFrom(at)));
}
