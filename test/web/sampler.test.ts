import { expect } from 'chai';
import { spy } from 'sinon';
import { Sampler } from '../../src/sampler/sampler.js';
import { sharedSampler } from '../../src/sampler/shared-samplers.js';
import { viewFixture } from './web-fixture.js';

function onMemory(interval = 1000) {
  const { clock, backend, open } = viewFixture();
  const sampler = new Sampler(backend, { prefix: 'redsem', interval, clock });
  return { clock, backend, sampler, open };
}

const ignore = (): void => undefined;

describe('the sampler', () => {
  it('sees all names, forgets no used name, counts grants between looks, and keeps 15 minutes', async () => {
    const { clock, sampler, open } = onMemory();
    const [jobs, idle] = [open('jobs', 2), open('idle')];
    await idle.setLimit(4);
    const stop = sampler.watch(undefined, ignore);
    await clock.advance(0);
    const first = await jobs.acquire();
    await clock.advance(10_000);
    expect(sampler).to.include({ reachable: true, trouble: undefined });
    expect(sampler.semaphores.map(({ name }) => name)).to.have.members(['jobs', 'idle']);
    await first.release();
    for (let i = 0; i < 10; i += 1) {
      const handle = await jobs.acquire();
      await clock.advance(1000);
      await handle.release();
    }
    const semaphore = sampler.semaphore('jobs');
    expect(semaphore?.summary).to.include({ limit: 2, limitFrom: 'caller', waiting: 0 });
    expect(semaphore && sampler.rate(semaphore)).to.be.closeTo(1, 0.11);
    const steps = sampler.history('jobs');
    expect(steps.filter(({ t }) => t % 5000 !== 0)).to.deep.equal([]);
    expect(steps.at(-2)).to.include({ held: 1, limit: 2, waitP50: null });
    expect(steps.at(-2)?.grantsPerSecond).to.be.closeTo(1, 0.21);
    expect(sampler.history('idle')).to.have.length(0);
    await jobs.acquire();
    for (let minute = 0; minute < 17; minute += 1) await clock.advance(60_000);
    const all = sampler.history('jobs');
    expect(all, 'fifteen minutes').to.have.length(181);
    expect(clock.wall() - (all[0]?.t ?? 0)).to.be.within(895_000, 905_000);
    stop();
  });

  it('measures the waits of requests that were seen waiting, in a semaphore with a viewer', async () => {
    const { clock, sampler, open } = onMemory();
    const jobs = open('jobs');
    const first = await jobs.acquire();
    const stop = sampler.watch('jobs', ignore);
    const waiting = jobs.acquire();
    await clock.advance(4500);
    expect(sampler.semaphore('jobs')?.summary.oldestWait).to.be.within(3000, 4500);
    await first.release();
    const second = await waiting;
    await clock.advance(2000);
    const waits = sampler.history('jobs').flatMap(({ waitP50 }) => waitP50 ?? []);
    expect(waits.map(Math.round)).to.deep.equal([4500]);
    expect(sampler.semaphore('jobs')?.detail?.holders[0]?.id).to.equal(second.id);
    stop();
  });

  it('counts grants also where the looks are far apart', async () => {
    const { clock, sampler, open } = onMemory(30_000);
    const jobs = open('jobs', 40);
    const stop = sampler.watch(undefined, ignore);
    const numbers: (number | undefined)[] = [];
    for (let second = 0; second < 180; second += 1) {
      if (second % 5 === 0) await jobs.acquire();
      await clock.advance(1000);
      const semaphore = sampler.semaphore('jobs');
      numbers.push(semaphore && sampler.rate(semaphore));
    }
    expect(Math.min(...numbers.slice(70).map((rate = 0) => rate))).to.be.within(0.15, 0.3);
    expect(Math.max(...numbers.slice(70).map((rate = 0) => rate))).to.be.within(0.15, 0.31);
    stop();
  });

  it('shows no grants and waits of a time without a viewer', async () => {
    const { clock, sampler, open } = onMemory();
    const jobs = open('jobs', 40);
    await jobs.acquire();
    const leave = sampler.watch('jobs', ignore);
    await clock.advance(1000);
    leave();
    const full = await jobs.acquire({ permits: 39 });
    const late = Array.from({ length: 30 }, () => jobs.acquire());
    await clock.advance(60_000);
    await full.release();
    await Promise.all(late);
    await clock.advance(60_000);
    const stop = sampler.watch('jobs', ignore);
    await clock.advance(1000);
    const semaphore = sampler.semaphore('jobs');
    const [last] = sampler.history('jobs').slice(-1);
    expect(last).to.include({ held: 31, grantsPerSecond: 0, waitP50: null, waitP99: null });
    expect(semaphore && sampler.rate(semaphore)).to.equal(0);
    stop();
  });

  it('keeps the numbers of the last look while the server is away', async () => {
    const { clock, backend, sampler, open } = onMemory();
    const jobs = open('jobs', 9);
    const stop = sampler.watch('jobs', ignore);
    for (let i = 0; i < 4; i += 1) {
      await clock.advance(500);
      await jobs.acquire();
    }
    await clock.advance(0);
    const refuse = () => Promise.reject(new Error('connect ECONNREFUSED'));
    Object.assign(backend, { inspect: refuse, listNames: refuse });
    await clock.advance(1000);
    const numbers = () => {
      const semaphore = sampler.semaphore('jobs');
      return [semaphore && sampler.rate(semaphore), sampler.history('jobs').at(-1)];
    };
    const before = numbers();
    expect(before).to.have.nested.property('[0]').that.is.above(0);
    await clock.advance(4000);
    expect(sampler.reachable).to.equal(false);
    expect(numbers()).to.deep.equal(before);
    stop();
  });

  it('says that the server is away also where no name is known', async () => {
    const { clock, backend, sampler } = onMemory();
    const { inspect } = backend;
    // As several masters, which have no list of names.
    Object.assign(backend, { listNames: undefined });
    const stop = sampler.watch(undefined, ignore);
    await clock.advance(1000);
    expect(sampler).to.include({ reachable: true, trouble: undefined });
    const refuse = () => Promise.reject(new Error('connect ECONNREFUSED'));
    Object.assign(backend, { inspect: refuse });
    await clock.advance(1000);
    expect(sampler).to.include({ reachable: false, trouble: 'connect ECONNREFUSED' });
    Object.assign(backend, { inspect });
    await clock.advance(1000);
    expect(sampler).to.include({ reachable: true, trouble: undefined });
    expect(sampler.semaphores).to.deep.equal([]);
    stop();
  });

  it('makes at most 5 calls a second, however many viewers watch any number of semaphores', async () => {
    const { clock, backend, open } = onMemory();
    const names = Array.from({ length: 600 }, (_, i) => `many-${i}`);
    for (const name of names) await open(name).acquire();
    const calls = (['listNames', 'overview', 'inspect'] as const).map((call) => spy(backend, call));
    const sampler = () => sharedSampler(backend, 'redsem', [], clock);
    const watched = [...names.slice(0, 30), ...names.map(() => undefined)];
    const stops = watched.map((name) => sampler().watch(name, ignore));
    await clock.advance(20_000);
    const made = calls.reduce((sum, { callCount }) => sum + callCount, 0);
    expect(made).to.be.within(40, 20 * 5 + 5);
    const held = sampler().semaphores.filter(({ summary }) => summary.held === 1);
    expect(held).to.have.length(600);
    for (const stop of stops) stop();
  });
});
