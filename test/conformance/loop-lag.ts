/** How often it looks, in milliseconds. */
const PERIOD = 3;

/** Measures until called: by how many milliseconds a timer was late, at worst. */
export function startLagMeter(): () => number {
  let worst = 0;
  let due = performance.now() + PERIOD;
  const look = (): void => {
    worst = Math.max(worst, performance.now() - due);
    due = performance.now() + PERIOD;
    timer = setTimeout(look, PERIOD);
  };
  let timer = setTimeout(look, PERIOD);
  return () => {
    clearTimeout(timer);
    return Math.max(worst, performance.now() - due);
  };
}

/**
 * Runs `body`, again when it failed while the event loop stood still for longer than `tolerated`
 * milliseconds: a lease may rightly be lost then.
 */
export async function unlessStalled(tolerated: number, body: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const stopMeter = startLagMeter();
    try {
      await body();
      return;
    } catch (error) {
      if (attempt === 5 || stopMeter() <= tolerated) throw error;
    } finally {
      stopMeter();
    }
  }
}
