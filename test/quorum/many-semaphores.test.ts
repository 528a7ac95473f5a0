import { expect } from 'chai';

import { BackendError, Semaphore } from '../../src/index.js';
import type { Handle, SemaphoreOptions } from '../../src/index.js';
import type { TestServer } from '../support/redis-server.js';
import { errorOf } from '../support/rejection.js';
import { describeWithMasters } from './servers.js';

const OPTIONS: SemaphoreOptions = { limit: 2, ttl: 30_000, extendEvery: 0 };

describeWithMasters('many semaphores on three masters', 3, (masters) => {
  let semaphores: Semaphore[] = [];

  afterEach(() => Promise.all(semaphores.map((semaphore) => semaphore.close())));

  async function open(name: string, count: number): Promise<Semaphore[]> {
    const clients = await masters().connect('ioredis');
    const numbers = [...Array(count).keys()];
    semaphores = numbers.map((i) => new Semaphore(clients, `${name}-${i}`, OPTIONS));
    return semaphores;
  }

  const acquireAll = (from: readonly Semaphore[]): Promise<Handle[]> =>
    Promise.all(from.map((semaphore) => semaphore.acquire(20_000)));

  /** Scripts that each server ran for `work`. */
  async function scriptCalls(work: () => Promise<unknown>): Promise<number[]> {
    const { servers } = masters();
    await Promise.all(servers.map((server) => server.resetStatistics()));
    await work();
    const calls = await Promise.all(servers.map((server) => server.calls()));
    return calls.map(({ eval: byText = 0, evalsha = 0 }) => byText + evalsha);
  }

  it('share calls: 200 of one turn are two calls of a node, and a few where tokens or slots are settled', async () => {
    const many = await open('many', 200);
    const releaseAll = async (handles: readonly Handle[]): Promise<void> => {
      const released = await Promise.all(handles.map((handle) => handle.release()));
      expect(released).to.deep.equal(handles.map(() => true));
    };
    // Scripts and clocks of the nodes are known from then on.
    await releaseAll(await acquireAll(many));
    let handles: Handle[] = [];
    const counts = [
      await scriptCalls(async () => (handles = await acquireAll(many))),
      await scriptCalls(() => Promise.all(handles.map((handle) => handle.extend()))),
      await scriptCalls(() => releaseAll(handles)),
    ];
    expect(new Set(handles.map(({ name }) => name)).size).to.equal(200);
    // Two more where the nodes gave other tokens, and two where one node is put right.
    for (const count of counts.flat()) expect(count).to.be.within(2, 8);
  });

  for (const [title, count] of [
    ['one node', 1],
    ['a majority', 2],
  ] as const) {
    it(`are not disturbed by one of 20 that is damaged on ${title}`, async () => {
      const many = await open(`damaged-${count}`, 20);
      for (const handle of await acquireAll(many)) await handle.release();
      const [damaged, ...others] = [many[7], ...many.filter((_, i) => i !== 7)] as [
        Semaphore,
        ...Semaphore[],
      ];
      for (const server of masters().servers.slice(0, count)) await damage(server, damaged.name);
      const own = damaged.acquire(20_000);
      const error = count === 1 ? undefined : await errorOf(own, BackendError);
      const handles = await acquireAll(others);
      expect(handles.map(({ slot }) => slot)).to.deep.equal(others.map(() => 0));
      await Promise.all(handles.map((handle) => handle.extend()));
      const released = await Promise.all(handles.map((handle) => handle.release()));
      expect(released).to.deep.equal(others.map(() => true));
      if (error === undefined) expect(await (await own).release()).to.equal(true);
      else expect(error.message).to.include('WRONGTYPE');
    });
  }
});

function damage(server: TestServer, name: string): Promise<unknown> {
  return server.command('SET', `redsem:{${name}}:qslots`, 'not a sorted set');
}
