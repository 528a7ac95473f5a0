import { setTimeout as sleep } from 'node:timers/promises';

export interface Repetition {
  /** Ends it after the action that is under way; gives what all actions gave. */
  stop(): Promise<number[]>;
}

/** Runs `action` again and again, with pauses of so many milliseconds before each. */
export function repeat(pause: number, action: () => Promise<number>): Repetition {
  const end = new AbortController();
  const running = (async (): Promise<number[]> => {
    const results: number[] = [];
    while (!end.signal.aborted) {
      await sleep(pause);
      results.push(await action());
    }
    return results;
  })();
  // Heard of by whoever stops it.
  running.catch(() => undefined);
  return {
    stop: () => {
      end.abort();
      return running;
    },
  };
}
