import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Gives an unwanted event a chance to happen, and other calls a chance to come in between.
 * Nothing may be concluded from how much time has passed: on a slow machine a check behind it sees
 * less, and never fails for that.
 */
export async function moment(duration = 1): Promise<void> {
  await sleep(duration);
}
