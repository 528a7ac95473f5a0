import type { BatchObservableCallback, Meter } from '@opentelemetry/api';
import { withoutCredentials } from '../arguments/shown.js';
import { heldByGroup } from '../held-by-group.js';
import type { SemaphoreLike } from '../semaphore.js';
import { BUDGET_NAME, GROUP_NAME, SEMAPHORE_NAME } from './attributes.js';

/** A semaphore whose shared state is reported. */
export type Inspected = Pick<SemaphoreLike, 'name' | 'inspect'>;

/**
 * Reports the state of budgets and groups in the server: each collection calls `inspect`. If an
 * `inspect` fails, that collection has no values of its semaphore, and OpenTelemetry reports the
 * error.
 * @returns a function that ends the reports
 */
export function gaugeState(
  meter: Meter,
  semaphores: readonly Inspected[],
  groupBy: (name: string) => string,
): () => void {
  const gauge = (name: string, unit: string, description: string) =>
    meter.createObservableGauge(name, { unit, description });
  const used = gauge('redsem.budget.used', '{unit}', 'Units of the burst that are used now');
  const limit = gauge('redsem.budget.limit', '{unit}', 'Units of the burst');
  const held = gauge('redsem.group.held', '{permit}', 'Permits that a group holds, over all');
  const gauges = [used, limit, held];
  const callbacks = semaphores.map((semaphore): BatchObservableCallback => async (result) => {
    const { budgets = {}, holders, groupLimit } = await semaphore.inspect();
    const about = { [SEMAPHORE_NAME]: withoutCredentials(groupBy(semaphore.name)) };
    for (const [name, budget] of Object.entries(budgets)) {
      const aboutBudget = { ...about, [BUDGET_NAME]: name };
      result.observe(used, budget.used, aboutBudget);
      result.observe(limit, budget.burst, aboutBudget);
    }
    for (const [group, permits] of heldByGroup(holders)) {
      // Holders without a group count as a group only if there is a `groupLimit`.
      if (group === '' && groupLimit === undefined) continue;
      result.observe(held, permits, { ...about, [GROUP_NAME]: withoutCredentials(group) });
    }
  });
  for (const callback of callbacks) meter.addBatchObservableCallback(callback, gauges);
  return () => {
    for (const callback of callbacks) meter.removeBatchObservableCallback(callback, gauges);
  };
}
