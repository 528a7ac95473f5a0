import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Handle, HandleLostError, ManualClock } from '../../src/index.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { blockEventLoop } from './block-event-loop.js';
import {
  ClientBench,
  clientKinds,
  itThroughBothClients,
  newName,
} from '../../test/support/client-bench.js';
import { Gate } from '../../test/support/faulty-connection.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { expectUsable } from './usable.js';
import { eventually } from '../../test/support/eventually.js';
import { reasonOf } from '../../test/support/rejection.js';

describeWithServer('a process that stalls', (server) => {
  it('knows of its loss at the first statement after 2.5 s (both clients at once)', async () => {
    const benches = clientKinds.map((kind) => new ClientBench(kind));
    try {
      const held = await Promise.all(benches.map(hold));
      blockEventLoop(2500);
      for (const { handle } of held) expectNotHeld(handle);
      for (const { handle, losses, stored } of held) {
        await eventually(() => expect(losses).to.have.length(1));
        expect(losses[0]?.reason).to.equal('expired');
        expect(handle.signal.reason).to.equal(losses[0]);
        await stored.expectEmpty();
      }
      await sleep(400); // longer than an extension takes to come round
      for (const { handle, losses } of held) {
        expect(losses).to.have.length(1);
        expect(handle.held).to.equal(false);
        expect(await handle.release()).to.equal(false);
      }
    } finally {
      await Promise.all(benches.map((bench) => bench.close()));
    }
  });

  async function hold(bench: ClientBench) {
    const name = newName();
    const { target } = await bench.connect(server().port);
    const handle = await bench.semaphore(target, name, { limit: 1, ttl: 1000 }).acquire(1000);
    const losses: HandleLostError[] = [];
    handle.on('lost', (error) => losses.push(error));
    return { handle, losses, stored: new StoredSemaphore(server(), name) };
  }

  itThroughBothClients(
    'is not saved by an extension whose reply waited meanwhile',
    async (bench) => {
      const name = newName();
      const stored = new StoredSemaphore(server(), name);
      const { target } = await bench.connect(server().port);
      const semaphore = bench.semaphore(target, name, { limit: 1, ttl: 200, extendEvery: 0 });
      const handle = await semaphore.acquire(1000);
      let losses = 0;
      handle.on('lost', () => (losses += 1));
      const extending = reasonOf(handle.extend());
      // It is written to the socket on the next tick; the reply then comes while nobody can read it.
      await new Promise((resolve) => process.nextTick(() => process.nextTick(resolve)));
      blockEventLoop(300);
      expectNotHeld(handle);
      expect(await extending).to.be.instanceOf(HandleLostError);
      expectNotHeld(handle);
      await eventually(() => expect(losses).to.equal(1));
      await stored.expectEmpty();
      await expectUsable(semaphore, stored);
      expect(losses).to.equal(1);
    },
  );

  itThroughBothClients('keeps no grant that came while its wait ran out', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const [holder, waiter] = [
      await bench.connect(server().port),
      await bench.connect(server().port),
    ];
    const first = await bench.semaphore(holder.target, name, { limit: 1 }).acquire();
    const semaphore = bench.semaphore(waiter.target, name, { limit: 1 });
    const waiting = semaphore.acquire(2000).catch((error: unknown) => error);
    await eventually(async () => expect(await stored.queue()).to.have.length(1));
    await sleep(50);
    const releasing = first.release();
    await new Promise((resolve) => process.nextTick(() => process.nextTick(resolve)));
    blockEventLoop(2100);
    const outcome = await waiting;
    expect(await releasing).to.equal(true);
    if (!(outcome instanceof Error)) await (outcome as Handle).release();
    else expect(outcome).to.have.property('code', 'ACQUIRE_TIMEOUT');
    await stored.expectEmpty();
    await expectUsable(semaphore, stored);
  });

  itThroughBothClients('is not believed to hold when no timer could run', async (bench) => {
    const clock = new ManualClock();
    const { handle, stored, losses } = await holdOn(bench, clock);
    clock.stall(980);
    expect(handle.held).to.equal(true);
    clock.stall(20);
    expectNotHeld(handle);
    await clock.advance(1);
    await clock.advance(5000);
    expect(losses.map(({ reason }) => reason)).to.deep.equal(['expired']);
    await stored.expectEmpty();
  });

  itThroughBothClients('is not believed to hold when its wall clock went on', async (bench) => {
    const clock = new ManualClock();
    const { handle, stored, losses } = await holdOn(bench, clock);
    clock.stepWall(1000);
    expectNotHeld(handle);
    expect(await reasonOf(handle.extend())).to.be.instanceOf(HandleLostError);
    // Within one period the heartbeat notices, too.
    await clock.advance(1000 / 3 + 1);
    expect(losses.map(({ reason }) => reason)).to.deep.equal(['expired']);
    await stored.expectEmpty();
  });

  itThroughBothClients('holds no longer when its wall clock is set back', async (bench) => {
    const clock = new ManualClock();
    const { handle, stored, losses, connection } = await holdOn(bench, clock);
    clock.stepWall(-3_600_000);
    expect(handle.held).to.equal(true);
    expect(handle.expiresIn).to.be.at.most(1000);
    connection.fault = () => Promise.reject(new Error('read ECONNRESET'));
    await clock.advance(980);
    expect(handle.held).to.equal(true);
    await clock.advance(20);
    expectNotHeld(handle);
    expect(losses).to.have.length(1);
    connection.fault = undefined;
    await clock.advance(1000);
    await stored.expectEmpty();
  });

  itThroughBothClients('is not told that a late extension succeeded', async (bench) => {
    const clock = new ManualClock();
    const { handle, connection, stored } = await holdOn(bench, clock);
    const gate = new Gate();
    connection.fault = ({ operation, run }) =>
      operation === 'extend' ? run().then((reply) => gate.opened.then(() => reply)) : undefined;
    const extending = reasonOf(handle.extend());
    await clock.advance(0);
    clock.stall(1001);
    gate.open();
    expect(await extending).to.be.instanceOf(HandleLostError);
    expectNotHeld(handle);
    await clock.advance(1);
    await stored.expectEmpty();
  });

  /** A handle with a ttl of 1000 ms by that clock, on a connection that can fail. */
  async function holdOn(bench: ClientBench, clock: ManualClock) {
    const name = newName();
    const connection = await bench.connectFaulty(server().port);
    const semaphore = bench.semaphore(connection, name, { limit: 1, ttl: 1000, clock });
    const handle = await semaphore.acquire();
    const losses: HandleLostError[] = [];
    handle.on('lost', (error) => losses.push(error));
    return { handle, losses, connection, stored: new StoredSemaphore(server(), name) };
  }
});

function expectNotHeld(handle: Handle): void {
  expect(handle.held).to.equal(false);
  expect(handle.expiresIn).to.equal(0);
  expect(() => handle.assertHeld())
    .to.throw(HandleLostError)
    .with.property('reason', 'expired');
}
