import type { Handle, HandleLostError, Semaphore } from '../../src/index.js';
import { moment } from '../support/moment.js';
import type { Scope } from './scope.js';

/**
 * Takes tickets from a process that waits beside holding them, until one of its handles is told by a push: it never extends. The first
 * pushes may go before its subscription stands.
 */
export async function lossToldAtOnce(
  scope: Scope,
  take: (operator: Semaphore, handle: Handle) => Promise<unknown>,
): Promise<HandleLostError> {
  const [here, there] = [
    scope.semaphore({ limit: 6, ttl: 3_600_000, extendEvery: 0 }),
    scope.elsewhere({ limit: 6 }),
  ];
  await there.acquire();
  const handles: Handle[] = [];
  for (let i = 0; i < 5; i += 1) handles.push(await here.acquire());
  here.acquire({ permits: 6 }).catch(() => undefined);
  await scope.untilWaiting(1);
  const losses = handles.map(
    (handle) => new Promise<HandleLostError>((resolve) => handle.once('lost', resolve)),
  );
  const told = Promise.race(losses);
  let over = false;
  void told.then(() => (over = true));
  for (const handle of handles) {
    if (!over) await take(there, handle);
    await Promise.race([told, moment(200)]);
  }
  return told;
}
