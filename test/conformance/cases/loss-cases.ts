import { once } from 'node:events';
import { expect } from 'chai';

import { HandleLostError } from '../../../src/index.js';
import { errorOf } from '../../support/rejection.js';
import { caseGroup, expectLost, thrownBy, untilLost } from '../scope.js';

export const lossCases = caseGroup('extension and loss', [], (it) => {
  it('a loss is noticed at the next extension, by its holder alone', async (scope) => {
    const semaphore = scope.semaphore({ limit: 2, ttl: 20_000, extendEvery: 15 });
    const kept = await semaphore.acquire();
    for (const expired of [false, true]) {
      const handle = await semaphore.acquire();
      const { signal } = handle;
      const [aborted, lost] = [once(signal, 'abort'), untilLost(handle)];
      await (expired ? scope.ageTicket(handle, 0) : scope.removeTicket(handle));
      await aborted;
      await expectLost(handle, await lost, 'missing');
      expect(handle.signal).to.equal(signal);
      expect(await semaphore.inspect()).to.include({ held: 1 });
      const next = await semaphore.acquire();
      expect(next.fencingToken).to.be.greaterThan(handle.fencingToken);
      await next.extend();
      await next.release();
    }
    await kept.extend();
    expect(kept.signal.aborted).to.equal(false);
  });
});

export const lossInTimeCases = caseGroup('extension and loss', ['time'], (it) => {
  it('a handle ends by the end of its ttl, counted from before the call [P6]', async (scope) => {
    const { time } = scope.place;
    const semaphore = scope.semaphore({ ttl: 300, extendEvery: 0 });
    const sent = time.now();
    const handle = await semaphore.acquire();
    const lost = untilLost(handle);
    const after = lost.then(() => time.now() - sent);
    await expectLost(handle, await time.within(1000, lost), 'expired');
    expect(await after).to.be.within(290, 300 + time.late);
    // The server may have run the call later than it was sent: the ticket lives on so long.
    expect(await time.within(5000, scope.elsewhere().acquire())).to.include({ held: true });
  });

  it('a loss is seen right after a stall, and no extension undoes it [P6]', async (scope) => {
    const { time } = scope.place;
    const handle = await scope.semaphore({ ttl: 100 }).acquire();
    let losses = 0;
    handle.on('lost', () => (losses += 1));
    time.stall(110);
    expect(handle).to.include({ held: false, expiresIn: 0 });
    const error = thrownBy(() => handle.assertHeld());
    expect(error).to.be.instanceOf(HandleLostError).and.include({ reason: 'expired' });
    expect(losses).to.equal(0);
    await time.within(1000, errorOf(handle.extend(), HandleLostError));
    await time.pass(20);
    expect(losses).to.equal(1);
    expect(handle.held).to.equal(false);
    const next = scope.elsewhere().acquire(1000);
    expect(await time.within(2000, next)).to.include({ held: true });
  });
});
