import type { PlannedFault } from './plan.js';

/** One line for each fault. */
export function describePlan(plan: readonly PlannedFault[]): string {
  return plan.map((fault) => describeFault(fault)).join('\n');
}

export function describeFault({ at, kind, lasts, ...details }: PlannedFault): string {
  const when = `${(at / 1000).toFixed(1).padStart(7)} s`;
  const time = lasts > 0 ? `${lasts} ms` : '';
  return [when, kind.padEnd(18), time.padStart(8), describeDetails(details)].join('  ').trimEnd();
}

export function describeDetails({
  workers,
  step,
  key,
  delay,
  node,
}: Omit<PlannedFault, 'at' | 'kind' | 'lasts'>): string {
  const parts = [
    node === undefined ? undefined : `node ${node}`,
    workers === undefined ? undefined : `workers ${workers.join(', ')}`,
    step === undefined ? undefined : `by ${step} ms`,
    key,
    delay === undefined ? undefined : `by ${delay} ms`,
  ];
  return parts.filter((part) => part !== undefined).join('; ');
}
