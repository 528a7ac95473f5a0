import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
import { StubBackend, watch } from './stub-backend.js';

describe('a grant that comes before the reply which says that the request is queued', () => {
  it('is taken, and not left until the next try', async () => {
    const backend = new StubBackend({ pushes: true });
    const { clock } = backend;
    const semaphore = new Semaphore(backend, 's', { limit: 1 });
    // Somebody waited here before, so the subscription stands.
    const before = semaphore.acquire();
    await clock.advance(0);
    backend.setHealth(true);
    await clock.advance(0);
    backend.push(backend.acquires[0]?.call.requests[0]?.id ?? '');
    await (await before).release();

    // Over two connections the push may overtake the reply; in one chunk of data the shorter chain of promises does.
    backend.onAcquire = async (call) => {
      backend.push(call.requests[0]?.id ?? '');
      await Promise.resolve();
      return backend.allQueued(call);
    };
    const waiting = watch(clock, semaphore.acquire());
    await clock.advance(5);
    expect(waiting.value).to.include({ held: true });
    await waiting.value?.release();
    await semaphore.close();
  });

  it('is left until that reply where the server’s time is not known yet', async () => {
    const backend = new StubBackend({ pushes: true });
    const { clock } = backend;
    // The subscription stands for those of another name.
    const other = new Semaphore(backend, 'other', { limit: 1 });
    watch(clock, other.acquire());
    await clock.advance(0);
    backend.setHealth(true);
    await clock.advance(0);

    let answer = (): void => {};
    backend.onAcquire = (call) =>
      new Promise((resolve) => {
        answer = () => resolve(backend.allGranted(call));
      });
    const semaphore = new Semaphore(backend, 's', { limit: 1 });
    const waiting = watch(clock, semaphore.acquire());
    await clock.advance(0);
    backend.push(backend.acquires.at(-1)?.call.requests[0]?.id ?? '');
    await clock.advance(5);
    expect(waiting.done).to.equal(false);
    answer();
    await clock.advance(0);
    expect(waiting.value).to.include({ held: true });
    await Promise.all([semaphore.close(), other.close()]);
  });
});
