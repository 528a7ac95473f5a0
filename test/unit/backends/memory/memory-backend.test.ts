import { expect } from 'chai';

import { KeyedSemaphore } from '../../../../src/index.js';
import { ManualClock } from '../../../../src/time/manual-clock.js';
import { MemoryBackend } from '../../../../src/backends/memory/memory-backend.js';
import { only } from '../../../support/only.js';

const DAY = 86_400_000;
const NOTHING_KNOWN = { limit: 1, limitFrom: 'options', rate: undefined };

// What calls do is in test/scripts, for both backends.
describe('memory backend', () => {
  let clock: ManualClock;
  let backend: MemoryBackend;

  beforeEach(() => {
    clock = new ManualClock();
    backend = new MemoryBackend({ clock });
  });

  const requests = [{ id: 'a.1', permits: 1, wait: false, arrival: undefined }];
  const keyOf = (name: string, prefix = 'p') => ({ key: { prefix, name }, limit: 1 });

  async function take(name: string, ttl: number, on = backend, prefix = 'p'): Promise<boolean> {
    const call = { ...keyOf(name, prefix), client: 'a', ttl, label: '', notAfter: undefined };
    return (await only(on.acquire([{ ...call, requests }]))).verdicts[0]?.kind === 'granted';
  }

  it('takes no notice of steps of the wall clock', async () => {
    await take('jobs', 1000);
    clock.stepWall(86_400_000);
    expect((await backend.inspect(keyOf('jobs'))).held).to.equal(1);
    clock.stepWall(-2 * 86_400_000);
    await clock.advance(1000);
    expect((await backend.inspect(keyOf('jobs'))).held).to.equal(0);
  });

  it('hands out copies, so that no caller can change its state', async () => {
    await take('jobs', 1000);
    const { holders } = await backend.inspect(keyOf('jobs'));
    const slots = holders[0]?.slots as number[] | undefined;
    slots?.push(98);
    expect((await backend.inspect(keyOf('jobs'))).holders[0]?.slots).to.deep.equal([0]);
  });

  it('forgets names whose tickets were left to expire, all but 1000, as new ones are used', async () => {
    for (let i = 0; i < 3000; i += 1) await take(`left ${i}`, 1000);
    await take('live', 60_000);
    expect(backend.size).to.equal(3001);
    await clock.advance(1000);
    for (let i = 0; i < 3000; i += 1) await backend.inspect(keyOf(`new ${i}`));
    expect(backend.size).to.equal(1000);
    expect(await backend.inspect(keyOf('live'))).to.include({ held: 1 });
  });

  it('forgets names without tickets, all but 1000', async () => {
    const names = Array.from({ length: 3000 }, (_, i) => `${i}`);
    const calls = names.map((name) => ({ ...keyOf(name), client: 'a', ids: ['a.1'] }));
    for (const name of names) await take(name, 60_000);
    await backend.release(calls);
    expect(backend.size).to.equal(1000);
  });

  it('forgets a stored limit and rate a day after the last use, ticket and turn of the rate', async () => {
    const names = ['idle', 'used', 'held', 'rated'];
    const caller = { client: 'a', notAfter: undefined };
    for (const name of names) await backend.setLimit({ ...keyOf(name), ...caller, newLimit: 5 });
    for (const [name, per] of [
      ['idle', 1000],
      ['rated', 2 * DAY],
    ] as const) {
      const newRate = { permits: 1, per, burst: 1 };
      await backend.setRate({ ...keyOf(name), ...caller, newRate });
    }
    await take('held', 2 * DAY);
    await take('rated', 1000);
    /** What is stored at that time after the last of this. */
    const stored = async (time: number): Promise<string[]> => {
      clock.stall(time - clock.monotonic());
      const states = names.map(async (name) => {
        const { limit, limitFrom, rate } = await backend.inspect(keyOf(name));
        if (limitFrom === 'setLimit') return [`${name} ${limit} ${rate?.permits ?? 'no rate'}`];
        expect({ limit, limitFrom, rate }).to.deep.equal(NOTHING_KNOWN);
        return [];
      });
      return (await Promise.all(states)).flat();
    };
    const [idle, used, ...others] = ['idle 5 1', 'used 5 no rate', 'held 5 no rate', 'rated 5 1'];
    expect(await stored(DAY - 1)).to.deep.equal([idle, used, ...others]);
    await take('used', 0);
    expect(await stored(DAY)).to.deep.equal([used, ...others]);
    expect(await stored(2 * DAY - 2)).to.deep.equal([used, ...others]);
    expect(await stored(2 * DAY - 1)).to.deep.equal(others);
    expect(await stored(3 * DAY - 1)).to.deep.equal(others);
    expect(await stored(3 * DAY)).to.deep.equal([]);
  });

  it('forgets names with a stored limit a day after the last use, all but 1000, as new ones are used', async () => {
    const caller = { client: 'a', notAfter: undefined };
    for (let i = 0; i < 3000; i += 1)
      await backend.setLimit({ ...keyOf(`set ${i}`), ...caller, newLimit: 5 });
    clock.stall(DAY - 1);
    for (let i = 0; i < 3000; i += 1) await backend.inspect(keyOf(`new ${i}`));
    expect(backend.size).to.equal(3000);
    clock.stall(1);
    expect((await backend.listNames('p')).names.length).to.equal(0);
    for (let i = 0; i < 3000; i += 1) await backend.inspect(keyOf(`other ${i}`));
    expect(backend.size).to.equal(1000);
  });

  it('keeps the rate of keys while it counts, and no longer, though no new key is used', async () => {
    const rate = { permits: 1, per: 1000 };
    const keyed = new KeyedSemaphore(backend, { limit: 1, rate });
    for (let i = 0; i < 2100; i += 1) await keyed.use(`key ${i}`, async () => {});
    expect(backend.size).to.equal(2100);
    // What was used of the rate is known.
    expect(await keyed.tryAcquire('key 2099')).to.equal(null);
    clock.stall(61_000);
    // By calls of a single name, and without a timer.
    for (let i = 0; i < 200; i += 1) await keyed.tryAcquire('key 1');
    expect(backend.size).to.be.at.most(1001);
    await keyed.close();
    expect(clock.timers).to.equal(0);
  });

  it('gives the event loop its turn, however fast each reply makes its caller call again', async () => {
    let calls = 0;
    let turned: number | undefined;
    setImmediate(() => (turned = calls));
    for (; calls < 2000; calls += 1) await take(`${calls}`, 1000);
    expect(turned).to.be.within(1, 1000);
  });
});
