import type { PlannedFault } from './plan.js';

/** One line for each fault. */
export function describePlan(plan: readonly PlannedFault[]): string {
  return plan.map((fault) => describeFault(fault)).join('\n');
}

export function describeFault(fault: PlannedFault): string {
  const { at, kind, lasts, workers, step, key, delay, node } = fault;
  const when = `${(at / 1000).toFixed(1).padStart(7)} s`;
  const time = lasts > 0 ? `${lasts} ms` : '';
  const more = [
    node === undefined ? undefined : `node ${node}`,
    workers === undefined ? undefined : `workers ${workers.join(', ')}`,
    step === undefined ? undefined : `by ${step} ms`,
    key,
    delay === undefined ? undefined : `by ${delay} ms`,
  ];
  const details = more.filter((detail) => detail !== undefined).join('; ');
  return [when, kind.padEnd(18), time.padStart(8), details].join('  ').trimEnd();
}
