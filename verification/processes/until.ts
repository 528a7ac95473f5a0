import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for a condition; rejects, naming it, when it does not come true in time. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeout = 10_000,
): Promise<void> {
  const deadline = performance.now() + timeout;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not within ${timeout} ms: ${what}`);
    await sleep(5);
  }
}
