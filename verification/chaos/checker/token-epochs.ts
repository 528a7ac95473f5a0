import { IN_FLIGHT } from './precision.js';
import type { Fault, Hold, RunRecord } from './run-record.js';

/**
 * A server that has lost its data makes tokens from its clock: after a step back, new tokens may be
 * below earlier ones. The promise leaves only that open.
 */
function restarts(faults: readonly Fault[]): Fault[] {
  let offset = 0;
  let latest = -Infinity;
  return faults.filter((fault) => {
    const { kind, step = 0, key, from, to, effects } = fault;
    latest = Math.max(latest, from + offset);
    if (kind === 'step-clock') {
      offset += step;
      latest = Math.max(latest, to + offset);
      return false;
    }
    const forgets = effects.breaksLimit && !(kind === 'delete-key' && key !== 'info');
    return forgets && from + offset < latest;
  });
}

/** The holds between two such restarts; a hold that may be on either side of one is left out. */
export function tokenEpochs({ holds, faults }: RunRecord): Hold[][] {
  const limits = restarts(faults);
  const epochs: Hold[][] = Array.from({ length: limits.length + 1 }, () => []);
  for (const hold of holds) {
    const before = limits.filter(({ to }) => hold.granted > to + IN_FLIGHT).length;
    const atMost = limits.filter(({ from }) => hold.granted >= from).length;
    if (before === atMost) epochs[before]?.push(hold);
  }
  return epochs;
}
