import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Handle, ManualClock, Semaphore } from '../../src/index.js';
import { startMonitor } from '../../test/support/command-monitor.js';
import { eventually } from '../../test/support/eventually.js';
import { type ClientKind, type OpenClient, openClient } from '../../test/support/open-client.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { untilSubscribed } from '../../test/support/subscribers.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';

/** Handles, and calls for all of them: a call may carry a hundred at least. */
const MANY = 1000;
const CALLS = 10;

describeWithServer('calls', (server) => {
  const clients: OpenClient[] = [];

  afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));

  async function open(kind: ClientKind): Promise<OpenClient> {
    const client = await openClient(kind, server().url);
    clients.push(client);
    return client;
  }

  /** Script calls that the server saw meanwhile. */
  async function callsOf(body: () => Promise<unknown>): Promise<number> {
    const count = async (): Promise<number> => {
      const { evalsha = 0, eval: whole = 0 } = await server().calls();
      return evalsha + whole;
    };
    const before = await count();
    await body();
    return (await count()) - before;
  }

  for (const kind of ['redis', 'ioredis'] as const) {
    it(`carry many acquires, extensions and releases together (${kind})`, async () => {
      const { target } = await open(kind);
      const options = { limit: MANY, ttl: 30_000, extendEvery: 1000 };
      const sem = new Semaphore(target, `many-${kind}`, options);
      await (await sem.acquire()).release();
      let handles: Handle[] = [];
      const acquiring = await callsOf(async () => {
        handles = await Promise.all(Array.from({ length: MANY }, () => sem.acquire()));
      });
      expect(acquiring).to.be.within(1, CALLS);
      expect(new Set(handles.map(({ slot }) => slot)).size).to.equal(MANY);
      const began = performance.now();
      const extending = await callsOf(() => sleep(3000));
      const rounds = Math.ceil((performance.now() - began) / 1000);
      expect(extending).to.be.within(1, CALLS * rounds);
      const releasing = await callsOf(async () => {
        const released = await Promise.all(handles.map((handle) => handle.release()));
        expect(released).to.not.include(false);
      });
      expect(releasing).to.be.within(1, CALLS + 1);
      await sem.close();
      expect(await new StoredSemaphore(server(), sem.name).keys()).to.deep.equal(['meta']);
    });
  }

  for (const [ttl, kind] of [
    [1900, 'redis'],
    [600_000, 'ioredis'],
  ] as const) {
    it(`of a hand-off between processes: one, and no third for a short task (ttl ${ttl}, ${kind})`, async () => {
      const clock = new ManualClock();
      const options = { limit: 1, ttl, extendEvery: 0, clock };
      const [from, to] = (await Promise.all([open(kind), open(kind)])).map(
        ({ target }) => new Semaphore(target, `hand-off ${ttl}`, options),
      ) as [Semaphore, Semaphore];
      const queueUp = async (): Promise<[Handle, Promise<Handle>]> => {
        const first = await from.acquire();
        const acquiring = to.acquire();
        await eventually(async () => (await from.inspect()).waiting === 1, 'it waits');
        await untilSubscribed(server(), 1);
        return [first, acquiring];
      };
      const monitor = await startMonitor(server());
      // The first round makes the subscription.
      const [gate, passed] = await queueUp();
      await gate.release();
      await (await passed).release();
      const [first, acquiring] = await queueUp();
      await monitor.names();
      await first.release();
      const second = await acquiring;
      await clock.advance(49);
      expect(second.held).to.equal(true);
      expect(await second.release()).to.equal(true);
      const scripts = (await monitor.names()).filter((name) => name.startsWith('eval'));
      expect(scripts).to.deep.equal(['evalsha', 'evalsha']);
      monitor.stop();
      await Promise.all([from.close(), to.close()]);
    });
  }
});
