import { expect } from 'chai';

import { ClosedError } from '../../../src/index.js';
import { errorOf } from '../../support/rejection.js';
import { caseGroup, expectLost, untilLost } from '../scope.js';

export const closeCases = caseGroup('close', [], (it) => {
  it('releases its handles, each lost once, however often it is called', async (scope) => {
    const semaphore = scope.semaphore({ limit: 4 });
    const staying = await scope.semaphore({ limit: 4 }).acquire();
    const handles = [await semaphore.acquire(), await semaphore.acquire({ permits: 2 })];
    const lost = handles.map(untilLost);
    let losses = 0;
    for (const handle of [...handles, staying]) handle.on('lost', () => (losses += 1));
    const again = lost.map((loss) => loss.then(() => semaphore.acquire(0)));
    const refused = again.map((acquiring) => errorOf(acquiring, ClosedError));
    await Promise.all([semaphore.close(), semaphore.close()]);
    await semaphore[Symbol.asyncDispose]();
    for (const [i, handle] of handles.entries()) await expectLost(handle, await lost[i], 'closed');
    await Promise.all(refused);
    // Another object of the same client and name keeps its permits.
    await staying.extend();
    expect(losses).to.equal(2);
    expect(await scope.elsewhere().inspect()).to.include({ held: 1 });
  });

  it('with drain leaves holders their permits until they release', async (scope) => {
    const [closing, there] = scope.pair({ limit: 2 });
    const [first, second] = [await closing.acquire(), await closing.acquire()];
    let losses = 0;
    for (const handle of [first, second]) handle.on('lost', () => (losses += 1));
    const waiter = errorOf(closing.acquire(), ClosedError);
    let closed = false;
    const close = closing.close({ drain: 60_000 }).then(() => (closed = true));
    await waiter;
    await errorOf(closing.acquire(), ClosedError);
    await errorOf(closing.tryAcquire(), ClosedError);
    await errorOf(closing.inspect(), ClosedError);
    await Promise.all([first.extend(), second.extend()]);
    expect(await there.tryAcquire(), 'never above the limit').to.equal(null);
    expect(await first.release()).to.equal(true);
    expect(await there.acquire(0)).to.include({ held: true });
    expect(closed).to.equal(false);
    expect(await second.release()).to.equal(true);
    await close;
    expect(losses).to.equal(0);
  });
});
