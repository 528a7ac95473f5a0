import type { Semaphore } from '../../src/index.js';

type Act<T> = (semaphore: Semaphore, index: number) => Promise<T>;

/** Starts `act` so often at once, on the one semaphore after the other in turns, and gives all results. */
export function inTurns<T>(
  semaphores: readonly Semaphore[],
  count: number,
  act: Act<T>,
): Promise<T[]> {
  const started: Promise<T>[] = [];
  for (let index = 0; index < count; index += 1) {
    const semaphore = semaphores[index % semaphores.length];
    if (semaphore !== undefined) started.push(act(semaphore, index));
  }
  return Promise.all(started);
}
