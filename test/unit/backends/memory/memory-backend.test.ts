import { expect } from 'chai';

import { KeyedSemaphore } from '../../../../src/index.js';
import { ManualClock } from '../../../../src/time/manual-clock.js';
import { MemoryBackend } from '../../../../src/backends/memory/memory-backend.js';
import { acquire } from '../../../../src/backends/memory/requests.js';
import { Server } from '../../../../src/backends/memory/server.js';
import { only } from '../../../support/only.js';

const DAY = 86_400_000;
const requests = [{ id: 'a.1', permits: 1, wait: false, arrival: undefined }];
const caller = { client: 'a', notAfter: undefined };
const keyOf = (name: string) => ({ key: { prefix: 'p', name }, limit: 1 });

// test/scripts has the effects of calls, for both backends.
describe('memory backend', () => {
  let clock: ManualClock;
  let backend: MemoryBackend;

  beforeEach(() => {
    clock = new ManualClock();
    backend = new MemoryBackend({ clock });
  });

  async function take(name: string, ttl: number): Promise<void> {
    const call = { ...keyOf(name), ...caller, ttl, label: '', requests };
    const { verdicts } = await only(backend.acquire([call]));
    expect(verdicts[0]?.kind).to.equal('granted');
  }

  const setLimit = (name: string) => backend.setLimit({ ...keyOf(name), ...caller, newLimit: 5 });

  /** Calls for 3000 names. */
  async function each(start: string, call: (name: string) => Promise<unknown>): Promise<void> {
    for (let i = 0; i < 3000; i += 1) await call(`${start} ${i}`);
  }

  it('ignores steps of the wall clock, and hands out copies, so that no caller can change its state', async () => {
    await take('jobs', 1000);
    clock.stepWall(DAY);
    const { holders } = await backend.inspect(keyOf('jobs'));
    (holders[0]?.slots as number[] | undefined)?.push(98);
    expect((await backend.inspect(keyOf('jobs'))).holders[0]?.slots).to.deep.equal([0]);
    clock.stepWall(-2 * DAY);
    await clock.advance(1000);
    expect((await backend.inspect(keyOf('jobs'))).held).to.equal(0);
  });

  // The backend forgets names as names are used.
  it('forgets names with expired tickets, an old limit or no tickets, all but 1000', async () => {
    for (const [use, life] of [
      [(name: string) => take(name, 1000), 1000],
      [(name: string) => setLimit(name), DAY],
    ] as const) {
      backend = new MemoryBackend({ clock });
      await each('left', use);
      await take('live', 2 * DAY);
      clock.stall(life - 1);
      await each('new', (name) => backend.inspect(keyOf(name)));
      expect((await backend.listNames('p')).names).to.have.lengthOf(3001);
      clock.stall(1);
      expect((await backend.listNames('p')).names).to.have.lengthOf(1);
      await each('other', (name) => backend.inspect(keyOf(name)));
      expect(backend.size).to.be.within(1000, 1050);
      expect(await backend.inspect(keyOf('live'))).to.include({ held: 1 });
    }
    const names: string[] = [];
    await each('held', (name) => take(name, names.push(name) && 60_000));
    await backend.release(names.map((name) => ({ ...keyOf(name), client: 'a', ids: ['a.1'] })));
    for (let i = 0; i < 2000; i += 1) await backend.inspect(keyOf('live'));
    expect(backend.size).to.equal(1000);
  });

  it('forgets a stored limit and rate a day after the last use, ticket and turn of the rate', async () => {
    const names = ['idle', 'used', 'held', 'rated'];
    for (const name of names) await setLimit(name);
    for (const [name, per] of Object.entries({ idle: 1000, rated: 2 * DAY })) {
      await backend.setRate({ ...keyOf(name), ...caller, newRate: { permits: 1, per, burst: 1 } });
    }
    await take('held', 2 * DAY);
    await take('rated', 1000);
    /** The names whose limits and rates are stored at that time. */
    const stored = async (time: number): Promise<string> => {
      clock.stall(time - clock.monotonic());
      const known: string[] = [];
      for (const name of names) {
        const { limit, limitFrom, rate } = await backend.inspect(keyOf(name));
        if (limitFrom === 'setLimit') known.push(`${name} ${limit}/${rate?.permits ?? '-'}`);
        else expect([limit, limitFrom, rate]).to.deep.equal([1, 'options', undefined]);
      }
      return known.join();
    };
    expect(await stored(DAY - 1)).to.equal('idle 5/1,used 5/-,held 5/-,rated 5/1');
    await take('used', 0);
    expect(await stored(DAY)).to.equal('used 5/-,held 5/-,rated 5/1');
    expect(await stored(2 * DAY - 2)).to.equal('used 5/-,held 5/-,rated 5/1');
    expect(await stored(2 * DAY - 1)).to.equal('held 5/-,rated 5/1');
    expect(await stored(3 * DAY - 1)).to.equal('held 5/-,rated 5/1');
    expect(await stored(3 * DAY)).to.equal('');
  });

  it('keeps the rate of keys while it counts, and no longer, though no new key is used', async () => {
    const keyed = new KeyedSemaphore(backend, { limit: 1, rate: { permits: 1, per: 1000 } });
    for (let i = 0; i < 2100; i += 1) await keyed.use(`key ${i}`, async () => {});
    expect(backend.size).to.equal(2100);
    // The backend knows the use of the rate.
    expect(await keyed.tryAcquire('key 2099')).to.equal(null);
    clock.stall(61_000);
    // Calls of a single name forget the others, without a timer.
    for (let i = 0; i < 1000; i += 1) await keyed.tryAcquire('key 1');
    expect(backend.size).to.be.at.most(1001);
    await keyed.close();
    expect(clock.timers).to.equal(0);
  });

  it('forgets a budget that no caller names, once its units and the tickets are back', () => {
    const server = new Server(clock);
    const semaphore = server.find(keyOf('jobs').key);
    const metersOf = (budget: string, ttl: number): string[] => {
      const asked = requests.map((one) => ({ ...one, id: `a.${budget}`, cost: { [budget]: 1 } }));
      const budgets = { [budget]: { permits: 1, per: 90_000, burst: 1 } };
      const call = { ...keyOf('jobs'), limit: 9, ...caller, ttl, label: '', requests: asked };
      server.begin();
      acquire(semaphore, { ...call, budgets });
      return semaphore.meters.map(({ name }) => name);
    };
    expect(metersOf('x', 0)).to.deep.equal(['x']);
    clock.stall(89_999);
    expect(metersOf('y', 200_000)).to.deep.equal(['x', 'y']);
    clock.stall(150_000);
    expect(metersOf('z', 0)).to.deep.equal(['x', 'y', 'z']);
    clock.stall(150_000);
    expect(metersOf('x', 0)).to.deep.equal(['x']);
  });

  it('gives the event loop its turn, however fast each reply makes its caller call again', async () => {
    let calls = 0;
    let turned: number | undefined;
    setImmediate(() => (turned = calls));
    for (; calls < 2000; calls += 1) await take(`${calls}`, 1000);
    expect(turned).to.be.within(1, 1000);
  });
});
