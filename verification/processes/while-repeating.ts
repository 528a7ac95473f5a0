import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Runs `action` again and again while `body` runs, with pauses of `pause` milliseconds; gives the
 * results of both.
 */
export async function whileRepeating<T, R>(
  pause: number,
  action: () => Promise<R>,
  body: () => Promise<T>,
): Promise<{ value: T; results: R[] }> {
  const end = new AbortController();
  const results: R[] = [];
  const repeat = async (): Promise<void> => {
    while (!end.signal.aborted) {
      await sleep(pause);
      results.push(await action());
    }
  };
  const running = body().finally(() => end.abort());
  const [value] = await Promise.all([running, repeat()]);
  return { value, results };
}
