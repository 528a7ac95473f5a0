const ends: (() => unknown)[] = [];

/** Calls `end` when the running test is over, whatever comes of it; the last `end` comes first. */
export function afterTest(end: () => unknown): void {
  ends.push(end);
}

/** For the hook after each test. */
export async function endTest(): Promise<void> {
  for (const end of ends.splice(0).toReversed()) await end();
}
