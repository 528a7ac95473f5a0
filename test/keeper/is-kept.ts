import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import type { Handle } from '../../src/index.js';

/** Extends it: true when the keeper's thread has done it, for this one publishes what it does. */
export async function isKept(handle: Handle): Promise<boolean> {
  let byThisThread = 0;
  const count = (): void => void (byThisThread += 1);
  subscribe('redsem:extend', count);
  try {
    await handle.extend();
  } finally {
    unsubscribe('redsem:extend', count);
  }
  return byThisThread === 0;
}
