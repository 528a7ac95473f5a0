import { expect } from 'chai';

import { type Handle, HandleLostError } from '../../src/index.js';
import { eventually } from '../../test/support/eventually.js';
import { reasonOf } from '../../test/support/rejection.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { lossesOf, throughBothClients } from './fixture.js';

/** Nothing else of this process runs for so many milliseconds: no timer, no socket. */
function blockEventLoop(duration: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, duration);
}

/** A call that was just made is written to its socket on the next tick. */
function written(): Promise<void> {
  return new Promise((resolve) => process.nextTick(() => process.nextTick(resolve)));
}

function expectNotHeld(handle: Handle): void {
  expect(handle).to.include({ held: false, expiresIn: 0 });
  expect(() => handle.assertHeld())
    .to.throw(HandleLostError)
    .with.property('reason', 'expired');
}

describeWithServer('a process that stalls', (server) => {
  const test = throughBothClients(server);

  test('knows of its loss at once, though an extension succeeded meanwhile', async (fixture) => {
    const semaphore = await fixture.semaphore({ ttl: 500, extendEvery: 0 });
    const handle = await semaphore.acquire(1000);
    const losses = lossesOf(handle);
    const extension = reasonOf(handle.extend());
    await written();
    blockEventLoop(700);
    expectNotHeld(handle);
    expect(await extension).to.be.instanceOf(HandleLostError);
    expectNotHeld(handle);
    await eventually(() => expect(losses).to.have.length(1));
    expect(handle.signal.reason).to.equal(losses[0]);
    expect(await handle.release()).to.equal(false);
    await fixture.expectUsable(semaphore);
    expect(losses).to.have.length(1);
  });

  test('keeps no grant that came while its wait ran out', async (fixture) => {
    const first = await (await fixture.semaphore()).acquire();
    const semaphore = await fixture.semaphore();
    const waiting = semaphore.acquire(1000).catch((error: unknown) => error);
    await fixture.stored.expectListening();
    const releasing = first.release();
    await written();
    blockEventLoop(1100);
    const outcome = await waiting;
    expect(await releasing).to.equal(true);
    if (outcome instanceof Error) expect(outcome).to.have.property('code', 'ACQUIRE_TIMEOUT');
    else await (outcome as Handle).release();
    await fixture.expectUsable(semaphore);
  });
});
