import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Runs `action` again and again while `body` runs, with pauses of so many milliseconds before each; gives what
 * the body gave and what all actions gave.
 */
export async function whileRepeating<T>(
  pause: number,
  action: () => Promise<number>,
  body: () => Promise<T>,
): Promise<{ value: T; results: number[] }> {
  const end = new AbortController();
  const repeating = (async (): Promise<number[]> => {
    const results: number[] = [];
    while (!end.signal.aborted) {
      await sleep(pause);
      results.push(await action());
    }
    return results;
  })();
  // Heard of below, unless the body fails first.
  repeating.catch(() => undefined);
  try {
    const value = await body();
    end.abort();
    return { value, results: await repeating };
  } finally {
    end.abort();
  }
}
