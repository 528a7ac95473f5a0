import { expect } from 'chai';

import type { Handle, Semaphore } from '../../src/index.js';
import type { StoredSemaphore } from '../../test/support/stored-semaphore.js';

/**
 * The semaphore is as good as new: every permit can be had at once, with a slot of its own and a token above
 * `above`, not one more, and afterwards nothing is held.
 */
export async function expectUsable(
  semaphore: Semaphore,
  stored: StoredSemaphore,
  above = 0,
): Promise<void> {
  const handles: Handle[] = [];
  try {
    for (let count = 0; count < semaphore.limit; count += 1) {
      handles.push(await semaphore.acquire(5000));
    }
    expect(handles.map(({ slot }) => slot)).to.have.members(handles.map((_, index) => index));
    for (const { fencingToken } of handles) expect(fencingToken).to.be.above(above);
    expect(await semaphore.tryAcquire()).to.equal(null);
    await stored.expectHeldBy(handles);
    for (const handle of handles) expect(await handle.release()).to.equal(true);
  } finally {
    await Promise.allSettled(handles.map((handle) => handle.release()));
  }
  await stored.expectEmpty();
}
