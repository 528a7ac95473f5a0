import { setTimeout as sleep } from 'node:timers/promises';

/** Repeats `check` until it passes; fails as it does once the time is over. */
export async function eventually(check: () => unknown, within = 5000): Promise<void> {
  const deadline = performance.now() + within;
  for (;;) {
    try {
      await check();
      return;
    } catch (error) {
      if (performance.now() >= deadline) throw error;
    }
    await sleep(2);
  }
}
