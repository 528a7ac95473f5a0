import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import type { Handle } from '../../src/index.js';

/** Whether the keeper's thread extends the handle: this thread would publish an extension. */
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
