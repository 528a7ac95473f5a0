import type { PlannedFault } from './plan.js';

/** One line for each fault. */
export function describePlan(plan: readonly PlannedFault[]): string {
  return plan.map((fault) => describeFault(fault)).join('\n');
}

export function describeFault(fault: PlannedFault): string {
  const { at, kind, lasts, ...more } = fault;
  const when = `${(at / 1000).toFixed(1).padStart(7)} s`;
  const time = lasts > 0 ? `${lasts} ms` : '';
  const details = Object.entries(more).map(([name, value]) => `${name} ${String(value)}`);
  return [when, kind.padEnd(18), time.padStart(8), details.join('; ')].join('  ').trimEnd();
}
