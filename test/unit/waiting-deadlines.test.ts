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

  const ends: Readonly<Record<string, () => void>> = {
    'time out at once': () => void backend.clock.advance(300),
    'are closed': () => void semaphore.close(),
  };
  for (const [what, end] of Object.entries(ends)) {
    it(`leave the event loop its turns when thousands of them ${what}`, async () => {
      let [inOneTurn, most, over] = [0, 0, false];
      const onTurn = (): void => {
        inOneTurn = 0;
        if (!over) setImmediate(onTurn);
      };
      onTurn();
      const waiting = Array.from({ length: 5000 }, () =>
        semaphore.acquire(300).catch(() => {
          inOneTurn += 1;
          most = Math.max(most, inOneTurn);
        }),
      );
      await backend.clock.advance(0);
      end();
      await Promise.all(waiting);
      over = true;
      expect(most).to.be.within(1, 1000);
      expect(backend.clock.monotonic()).to.be.at.most(300);
    });
  }

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
