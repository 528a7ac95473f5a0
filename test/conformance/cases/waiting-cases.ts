import { expect } from 'chai';

import type { AcquireOptions, Semaphore } from '../../../src/index.js';
import { AcquireTimeoutError, ClosedError, QueueFullError } from '../../../src/index.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
import { caseGroup, type Scope, untilState } from '../scope.js';

type Request = readonly [letter: string, by: Semaphore, options?: AcquireOptions];

/** Queues one request after the other; gives a call that serves them, which gives their order. */
async function queued(scope: Scope, requests: readonly Request[]): Promise<() => Promise<string>> {
  const holder = await scope.elsewhere({ limit: 2, label: 'holder' }).acquire({ permits: 2 });
  let served = '';
  const ends: Promise<void>[] = [];
  for (const [letter, by, options] of requests) {
    ends.push(by.use(() => void (served += letter), { permits: 2, ...options }));
    await scope.untilWaiting(ends.length);
  }
  return async () => {
    await holder.release();
    await Promise.all(ends);
    return served;
  };
}

export const waitingCases = caseGroup('waiting', ['queue'], (it) => {
  it('serves in the order of arrival, over objects and processes [P3]', async (scope) => {
    const [here, there] = scope.pair({ limit: 2 });
    const other = scope.semaphore({ limit: 2, label: 'other options', ttl: 20_000 });
    const by = [here, here, there, other, there, here];
    const serve = await queued(
      scope,
      by.map((semaphore, i) => [String(i), semaphore]),
    );
    expect(await serve()).to.equal('012345');
  });

  it('puts priority before groups and arrival, and inspect shows it', async (scope) => {
    const requests = Object.entries({
      a: {},
      b: { priority: 2, group: 'x' },
      c: { priority: 9, permits: 1 },
      d: { priority: 2, group: 'x' },
      'e; here|now': { priority: 2, group: 'y z, 100%' },
      f: { group: 'x' },
    }).map(([label, options], i): Request => {
      const own = { limit: 2, label };
      return [label, i % 2 === 0 ? scope.semaphore(own) : scope.elsewhere(own), options];
    });
    const serve = await queued(scope, requests);
    const { held, waiting, waiters, holders } = await scope.semaphore({ limit: 2 }).inspect();
    expect([held, waiting]).to.deep.equal([2, 6]);
    expect(holders.map(({ label }) => label)).to.deep.equal(['holder']);
    const shown = waiters.map(({ label, position, permits, priority, group }) =>
      [label, position, permits, priority, group].join(),
    );
    expect(shown).to.deep.equal([
      'c,0,1,9,',
      'b,1,2,2,x',
      'e; here|now,2,2,2,y z, 100%',
      'd,3,2,2,x',
      'a,4,2,0,',
      'f,5,2,0,x',
    ]);
    for (const { waitingFor } of waiters) expect(waitingFor).to.be.within(0, 3_600_000);
    expect(new Set(waiters.map(({ id }) => id))).to.have.lengthOf(6);
    expect(await serve()).to.equal('cbe; here|nowdaf');
  });

  it('lets no try pass by the waiters, and refuses a request above maxWaiting at once [P3]', async (scope) => {
    const [here, there] = scope.pair({ limit: 2, maxWaiting: 1 });
    const holder = await here.acquire();
    // Longer than a timer can.
    const waiting = here.acquire({ permits: 2, timeout: 2 ** 40 });
    await scope.untilWaiting(1);
    for (const semaphore of [here, there]) {
      expect(await semaphore.tryAcquire()).to.equal(null);
      expect(await semaphore.tryUse(() => 'ran')).to.deep.equal({ ran: false });
      await errorOf(semaphore.acquire(0), AcquireTimeoutError);
      const fields = { code: 'QUEUE_FULL', position: 1, limit: 1, semaphore: scope.name };
      expect(await errorOf(semaphore.acquire(), QueueFullError)).to.include(fields);
    }
    // The holder of one permit waits for two, and so for its own.
    await holder.release();
    expect((await waiting).slots).to.deep.equal([0, 1]);
    await (await waiting).release();
    const never = scope.semaphore({ maxWaiting: 0 });
    await never.acquire();
    expect(await errorOf(never.acquire(), QueueFullError)).to.include({ position: 0, limit: 0 });
  });

  it('rejects with the very reason of an abort, and leaves nothing [P4]', async (scope) => {
    const semaphore = scope.semaphore();
    const early = semaphore.acquire({ signal: AbortSignal.abort('no need') });
    expect(await reasonOf(early)).to.equal('no need');
    expect(await semaphore.inspect()).to.include({ held: 0, waiting: 0 });
    const afterwards = new AbortController();
    const holder = await semaphore.acquire({ signal: afterwards.signal });
    afterwards.abort();
    expect([holder.held, holder.signal.aborted]).to.deep.equal([true, false]);
    const run = (): never => expect.fail('it ran without a permit');
    for (const reason of [new Error('changed my mind'), 0, null]) {
      const controller = new AbortController();
      const { signal } = controller;
      const reasons = [semaphore.acquire({ signal }), semaphore.use(run, { signal })].map(reasonOf);
      await scope.untilWaiting(2);
      controller.abort(reason);
      expect(await Promise.all(reasons)).to.deep.equal([reason, reason]);
      await scope.untilWaiting(0);
    }
    const late = await errorOf(semaphore.acquire({ signal: AbortSignal.timeout(20) }), Error);
    expect(late.name).to.equal('TimeoutError');
    expect(await holder.release()).to.equal(true);
    expect(await scope.elsewhere().tryAcquire()).to.include({ held: true });
  });

  it('ends by close, which rejects the waiters of its object and no others [P8]', async (scope) => {
    const holder = await scope.elsewhere().acquire();
    const [closing, staying] = [scope.semaphore(), scope.semaphore()];
    const rejected = [1, 2, 3].map(() => errorOf(closing.acquire(), ClosedError));
    const waiting = staying.acquire();
    await scope.untilWaiting(4);
    await closing.close();
    for (const error of await Promise.all(rejected)) {
      expect(error).to.include({ name: 'ClosedError', code: 'CLOSED' });
      expect(error.message).to.include(scope.name);
    }
    await untilState(staying, { held: 1, waiting: 1 });
    await holder.release();
    expect(await waiting).to.include({ held: true });
    const elsewhere = scope.elsewhere().acquire();
    await scope.untilWaiting(1);
    await staying[Symbol.asyncDispose]();
    expect(await elsewhere).to.include({ held: true });
  });
});

export const pushCases = caseGroup('waiting', ['queue', 'push'], (it) => {
  it('ends by a push, long before the next try is due [P3]', async (scope) => {
    const [here, there] = scope.pair({ retry: { min: 3_600_000, max: 3_600_000 } });
    const holder = await there.acquire();
    const waiting = here.acquire(Infinity);
    await scope.untilWaiting(1);
    await holder.release();
    expect(await waiting).to.include({ held: true });
  });
});
