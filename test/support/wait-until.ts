import { setTimeout as sleep } from 'node:timers/promises';

const PATIENCE = 20_000;

/** Resolves once `check` gives true; one that rejects counts as false. */
export async function waitUntil(check: () => Promise<boolean>, problem: string): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  while (!(await check().catch(() => false))) {
    if (performance.now() > deadline) throw new Error(`${problem} within ${PATIENCE} ms`);
    await sleep(20);
  }
}
