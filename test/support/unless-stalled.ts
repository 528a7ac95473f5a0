import { LagMeter } from './lag.js';

/**
 * Runs `body`, again when it failed while the event loop stood still for longer than `tolerated`
 * milliseconds in all: a lease may rightly be lost then.
 */
export async function unlessStalled(tolerated: number, body: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const meter = new LagMeter();
    try {
      await body();
      return;
    } catch (error) {
      if (attempt === 5 || meter.stop() <= tolerated) throw error;
    } finally {
      meter.stop();
    }
  }
}
