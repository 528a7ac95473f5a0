import { setTimeout as sleep } from 'node:timers/promises';

const PAUSE_MS = 10;
const waits = new Set<{ problem: unknown }>();

/**
 * Waits for a fact: asks again until `check` neither throws nor gives false, and gives its value.
 * There is no deadline but the runner's: a slow machine only takes longer.
 */
export async function eventually<T>(check: () => T | Promise<T>, what?: string): Promise<T> {
  const wait = { problem: what as unknown };
  waits.add(wait);
  while (waits.has(wait)) {
    try {
      const value = await check();
      if (value !== false) {
        waits.delete(wait);
        return value;
      }
    } catch (error) {
      wait.problem = error;
    }
    await sleep(PAUSE_MS);
  }
  throw new Error('the test was over before this came true', { cause: wait.problem });
}

/** Ends every wait; gives the last problem of each. */
export function endWaits(): unknown[] {
  const problems = [...waits].map(({ problem }) => problem);
  waits.clear();
  return problems;
}
