import { setTimeout as sleep } from 'node:timers/promises';

import type { Handle, HandleLostError, Semaphore } from '../../src/index.js';
import type { Scope } from './scope.js';

/**
 * Takes tickets from a process that waits beside holding them, one after the other, until one of its handles is
 * told by a push: the next extension is due in ten seconds. Its first ones may go before its subscription stands.
 */
export async function lossToldAtOnce(
  scope: Scope,
  take: (operator: Semaphore, handle: Handle) => Promise<unknown>,
): Promise<HandleLostError> {
  const [here, there] = [scope.semaphore({ limit: 6 }), scope.elsewhere({ limit: 6 })];
  await there.acquire();
  const handles: Handle[] = [];
  for (let i = 0; i < 5; i += 1) handles.push(await here.acquire());
  here.acquire({ permits: 6 }).catch(() => undefined);
  await scope.untilWaiting(1);
  for (const handle of handles) {
    const lost = new Promise<HandleLostError>((resolve) => handle.once('lost', resolve));
    await take(there, handle);
    const error = await Promise.race([lost, sleep(1000, undefined, { ref: false })]);
    if (error !== undefined) return error;
  }
  throw new Error('no handle was told at once');
}
