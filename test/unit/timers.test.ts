import { expect } from 'chai';
import { spy } from 'sinon';

import { Semaphore } from '../../src/index.js';
import { StubBackend, watch } from './stub-backend.js';

describe('timers of a semaphore', () => {
  let backend: StubBackend;
  let semaphore: Semaphore;

  beforeEach(() => {
    backend = new StubBackend();
    semaphore = new Semaphore(backend, 'jobs', { limit: 2, ttl: 3000 });
  });

  it('do not keep the process alive for what it holds', async () => {
    backend.onAcquire = (call) => backend.allGranted(call);
    const schedule = spy(backend.clock, 'schedule');
    const handle = await semaphore.acquire();
    await backend.clock.advance(5000);
    expect(backend.extends.length).to.be.at.least(4);
    expect(schedule.args.length).to.be.at.least(4);
    expect(new Set(schedule.args.map((args: readonly unknown[]) => args[2]))).to.deep.equal(
      new Set([false]),
    );
    expect(await handle.release()).to.equal(true);
  });

  it('keep the process alive while somebody waits: for the next try and for the deadline', async () => {
    const schedule = spy(backend.clock, 'schedule');
    const waiting = watch(backend.clock, semaphore.acquire(1000));
    await backend.clock.advance(0);
    const kept = schedule.args.filter((args: readonly unknown[]) => args[2] === true);
    expect(kept.map(([, delay]) => delay))
      .to.include(1000)
      .and.have.length.at.least(2);
    await backend.clock.advance(1000);
    expect(waiting.at).to.equal(1000);
  });
});
