import { expect } from 'chai';

import { AcquireTimeoutError, Semaphore } from '../../src/index.js';
import { StubBackend, watch } from './stub-backend.js';

describe('waiters of one process', () => {
  let backend: StubBackend;
  let semaphore: Semaphore;

  beforeEach(() => {
    backend = new StubBackend({ pushes: true });
    semaphore = new Semaphore(backend, 'jobs', { limit: 1, ttl: 30_000 });
  });

  it('time out one by one, each at its own moment', async () => {
    const { clock } = backend;
    const waits = [300, 100, 200].map((timeout) => watch(clock, semaphore.acquire(timeout)));
    const endless = watch(clock, semaphore.acquire());
    await clock.advance(1000);
    expect(waits.map(({ at }) => at)).to.deep.equal([300, 100, 200]);
    for (const { error } of waits) expect(error).to.be.instanceOf(AcquireTimeoutError);
    expect(endless.done).to.equal(false);
    await semaphore.close();
  });

  it('leave the event loop its turns when thousands of them time out at once', async () => {
    const { clock } = backend;
    let inOneTurn = 0;
    let most = 0;
    const requests = Array.from({ length: 5000 }, () =>
      semaphore.acquire(300).catch(() => {
        inOneTurn += 1;
        most = Math.max(most, inOneTurn);
        if (inOneTurn === 1)
          setImmediate(() => {
            inOneTurn = 0;
          });
      }),
    );
    await clock.advance(300);
    await Promise.all(requests);
    expect(most).to.be.within(1, 1000);
    expect(clock.monotonic()).to.equal(300);
    await semaphore.close();
  });

  it('extend a pushed grant in time, however little of its claim time is left', async () => {
    const { clock } = backend;
    const waiting = watch(clock, semaphore.acquire());
    await clock.advance(0);
    backend.setHealth(true);
    await clock.advance(0);
    const id = backend.acquires[0]?.call.requests[0]?.id ?? '';
    const pushed = clock.monotonic();
    backend.push(id, 400);
    await clock.advance(300);
    const handle = waiting.value;
    expect(backend.extends.map(({ call }) => call.ids)).to.deep.equal([[id]]);
    expect(backend.extends[0]?.at).to.be.within(pushed + 1, pushed + 200);
    await clock.advance(5000);
    expect(handle?.held).to.equal(true);
    await handle?.release();
  });
});
