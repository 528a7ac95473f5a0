import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Handle, HandleLostError, ManualClock } from '../../src/index.js';
import { describeWithServer } from '../../test/support/require-server.js';
import {
  type ClientBench,
  itThroughBothClients,
  newName,
} from '../../test/support/client-bench.js';
import { failNext, type FaultyConnection } from '../../test/support/faulty-connection.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { eventually } from '../../test/support/eventually.js';

const ttl = 3000;

describeWithServer('extension', (server) => {
  itThroughBothClients('comes every third of the ttl', async (bench) => {
    const { clock, connection, losses } = await hold(bench);
    const times: number[] = [];
    connection.fault = ({ operation }) => {
      if (operation === 'extend') times.push(clock.monotonic());
      return undefined;
    };
    await advance(clock, connection, 10 * ttl, 50);
    expect(times.length).to.be.within(28, 30);
    const gaps = times.slice(1).map((time, i) => time - (times[i] ?? 0));
    for (const gap of gaps) expect(gap).to.be.within(999, 1060);
    expect(losses).to.deep.equal([]);
  });

  itThroughBothClients('may fail once', async (bench) => {
    const { clock, connection, handle, losses } = await hold(bench);
    connection.fault = failNext(1, 'read ECONNRESET', 'extend');
    await advance(clock, connection, 2 * ttl, 50);
    expect(handle.held).to.equal(true);
    expect(losses).to.deep.equal([]);
    expect(await handle.release()).to.equal(true);
  });

  itThroughBothClients('may fail often inside the lease', async (bench) => {
    const { clock, connection, handle, losses } = await hold(bench);
    connection.fault = failNext(Infinity, 'read ECONNRESET', 'extend');
    await advance(clock, connection, ttl - 500, 20);
    expect(connection.of('extend').length).to.be.above(5);
    expect(handle.held).to.equal(true);
    connection.fault = undefined;
    await eventually(async () => {
      await advance(clock, connection, 10, 10);
      expect(handle.expiresIn).to.be.above(ttl / 2);
    });
    await advance(clock, connection, 2 * ttl, 50);
    expect(handle.held).to.equal(true);
    expect(losses).to.deep.equal([]);
  });

  itThroughBothClients('that fails for a whole lease is loss, at its end', async (bench) => {
    const { clock, connection, handle, losses, stored } = await hold(bench);
    await advance(clock, connection, 2500, 20);
    const [last] = connection.of('extend').slice(-1);
    expect(last).to.be.an('object');
    const left = handle.expiresIn;
    connection.fault = failNext(Infinity, 'read ECONNRESET', 'extend');
    await advance(clock, connection, left - 1, 20);
    expect(handle.held).to.equal(true);
    expect(losses).to.deep.equal([]);
    await clock.advance(2);
    expect(handle.held).to.equal(false);
    expect(losses.map(({ reason }) => reason)).to.deep.equal(['expired']);
    expect(losses[0]).to.have.nested.property('cause.message', 'read ECONNRESET');
    const calls = connection.of('extend').length;
    await advance(clock, connection, 2 * ttl, 100);
    expect(connection.of('extend')).to.have.length(calls);
    await stored.expectEmpty();
    expect(losses).to.have.length(1);
  });

  itThroughBothClients('that gets no reply is tried again inside the lease', async (bench) => {
    const { clock, connection, handle, losses } = await hold(bench);
    let silent = 2;
    let answered: Promise<unknown> = Promise.resolve();
    connection.fault = ({ operation, run }) => {
      if (operation !== 'extend') return undefined;
      const reply = run();
      if (silent === 0) return (answered = reply);
      silent -= 1;
      reply.catch(() => undefined);
      return new Promise(() => undefined);
    };
    // Two calls never end here, so time is let pass without waiting for them.
    for (let passed = 0; passed < 2 * ttl; passed += 50) {
      await clock.advance(50);
      await answered;
      await sleep(1);
    }
    expect(silent).to.equal(0);
    expect(handle.held).to.equal(true);
    expect(losses).to.deep.equal([]);
  });

  itThroughBothClients('that finds the ticket gone is loss at once', async (bench) => {
    const { clock, connection, handle, losses, stored } = await hold(bench);
    await stored.expire(handle.id);
    await advance(clock, connection, 1001, 1001);
    await eventually(() => expect(losses).to.have.length(1));
    expect(losses[0]?.reason).to.equal('missing');
    expect(handle.held).to.equal(false);
    expect(() => handle.assertHeld())
      .to.throw(HandleLostError)
      .with.property('reason', 'missing');
  });

  itThroughBothClients('is never done with extendEvery: 0', async (bench) => {
    const { clock, connection, handle, losses } = await hold(bench, 0);
    await advance(clock, connection, ttl - 40, 100);
    expect(connection.of('extend')).to.deep.equal([]);
    expect(handle.held).to.equal(true);
    await clock.advance(40);
    expect(handle.held).to.equal(false);
    expect(losses.map(({ reason }) => reason)).to.deep.equal(['expired']);
  });

  itThroughBothClients('by hand works with extendEvery: 0', async (bench) => {
    const { clock, connection, handle } = await hold(bench, 0);
    for (let count = 0; count < 3; count += 1) {
      await clock.advance(ttl - 100);
      await handle.extend();
      expect(handle.expiresIn).to.be.above(ttl - 100);
    }
    expect(connection.of('extend')).to.have.length(3);
    expect(await handle.release()).to.equal(true);
  });

  itThroughBothClients('brings a pushed grant to its full ttl once', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(server().port);
    const first = await bench.semaphore(target, name, { limit: 1 }).acquire();
    const connection = await bench.connectFaulty(server().port);
    const options = { limit: 1, ttl: 2500, extendEvery: 0 };
    const waiting = bench.semaphore(connection, name, options).acquire(10_000);
    await stored.expectListening();
    // Long after the reply by which the waiter last saw the server's clock.
    await sleep(800);
    await first.release();
    const handle = await waiting;
    const granted = Date.now();
    await eventually(async () => {
      const [ticket] = await stored.tickets();
      expect(ticket?.expiresAt).to.be.above(granted + 2300);
    });
    expect(handle.held).to.equal(true);
    expect(handle.expiresIn).to.be.below(2500);
    expect(await handle.release()).to.equal(true);
  });

  for (const long of [10_000, 3_600_000]) {
    itThroughBothClients(`is all that a pushed grant needs at ttl ${long}`, async (bench) => {
      const name = newName();
      const stored = new StoredSemaphore(server(), name);
      const { target } = await bench.connect(server().port);
      const first = await bench.semaphore(target, name, { limit: 1 }).acquire();
      const connection = await bench.connectFaulty(server().port);
      // It does not poll while its subscription is being made, however long that takes.
      const options = { limit: 1, ttl: long, retry: { min: 9000, max: 9000 } };
      const waiting = bench.semaphore(connection, name, options).acquire(10_000);
      await stored.expectListening();
      // Once it listens it asks once more.
      const tries = 2;
      await eventually(() => expect(connection.of('acquire')).to.have.length(tries));
      await connection.idle();
      await first.release();
      const handle = await waiting;
      expect(connection.of('acquire')).to.have.length(tries);
      expect(handle.expiresIn).to.be.within(500, 5000);
      await eventually(async () => {
        const [ticket] = await stored.tickets();
        expect(ticket?.expiresAt).to.be.above(Date.now() + long / 2);
      });
      expect(connection.of('extend')).to.have.length(1);
      expect(await handle.release()).to.equal(true);
    });
  }

  itThroughBothClients('that claims a pushed grant keeps its claim time', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(server().port);
    const first = await bench.semaphore(target, name, { limit: 1 }).acquire();
    const clock = new ManualClock();
    const connection = await bench.connectFaulty(server().port);
    const options = { limit: 1, ttl: 60_000, clock };
    const waiting = bench.semaphore(connection, name, options).acquire(10_000);
    await stored.expectListening();
    // Once it listens it asks once more.
    await eventually(() => expect(connection.of('acquire')).to.have.length(2));
    await connection.idle();
    connection.fault = failNext(Infinity, 'read ECONNRESET', 'extend');
    await first.release();
    const handle = await waiting;
    const losses: HandleLostError[] = [];
    handle.on('lost', (error) => losses.push(error));
    // Its ticket lives for 5 s unless it is claimed: no more may be taken for certain.
    expect(handle.expiresIn).to.be.within(1, 5000);
    await advance(clock, connection, 5000, 50);
    expect(handle.held).to.equal(false);
    expect(losses.map(({ reason }) => reason)).to.deep.equal(['expired']);
    expect(connection.of('extend').length).to.be.above(2);
  });

  itThroughBothClients('that claims a pushed grant outlives a server that hangs', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(server().port);
    const first = await bench.semaphore(target, name, { limit: 1 }).acquire();
    const clock = new ManualClock();
    const connection = await bench.connectFaulty(server().port);
    const waiting = bench.semaphore(connection, name, { limit: 1, clock }).acquire();
    await stored.expectListening();
    await eventually(() => expect(connection.of('acquire')).to.have.length(2));
    await connection.idle();
    await first.release();
    const handle = await waiting;
    server().pause();
    try {
      // The claim goes out, and again and again, to nobody.
      for (let passed = 0; passed < 4500; passed += 50) await clock.advance(50);
      expect(handle.held).to.equal(true);
    } finally {
      server().resume();
    }
    await eventually(() => expect(handle.expiresIn).to.be.above(20_000));
    expect(await handle.release()).to.equal(true);
  });

  itThroughBothClients('travels together for many handles', async (bench) => {
    const name = newName();
    const clock = new ManualClock();
    const connection = await bench.connectFaulty(server().port);
    const semaphore = bench.semaphore(connection, name, { limit: 200, ttl, clock });
    const held = await Promise.all(Array.from({ length: 200 }, () => semaphore.acquire()));
    await advance(clock, connection, 3 * ttl, 100);
    expect(connection.of('extend').length).to.be.at.most(18);
    for (const handle of held) expect(handle.held).to.equal(true);
  });

  /** Lets time pass in steps, each with the calls that it sets off. */
  async function advance(
    clock: ManualClock,
    connection: FaultyConnection,
    duration: number,
    step: number,
  ): Promise<void> {
    for (let left = duration; left > 0; left -= step) {
      await clock.advance(Math.min(step, left));
      await connection.idle();
    }
  }

  async function hold(bench: ClientBench, extendEvery?: number) {
    const name = newName();
    const clock = new ManualClock();
    const connection = await bench.connectFaulty(server().port);
    const every = extendEvery === undefined ? {} : { extendEvery };
    const semaphore = bench.semaphore(connection, name, { limit: 1, ttl, clock, ...every });
    const handle: Handle = await semaphore.acquire();
    const losses: HandleLostError[] = [];
    handle.on('lost', (error) => losses.push(error));
    return { clock, connection, handle, losses, stored: new StoredSemaphore(server(), name) };
  }
});
