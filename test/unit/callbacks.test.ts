import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';

import type { Handle } from '../../src/index.js';
import { Election, ManualClock, MemoryBackend, Semaphore } from '../../src/index.js';
import { webView } from '../../src/web/index.js';
import { uncaughtDuring } from '../support/uncaught.js';
import { reasonOf } from '../support/rejection.js';
import { get } from '../web/web-fixture.js';

/** What a callback throws, or rejects with. */
const THROWN: readonly unknown[] = [new Error('of the user'), undefined, 0];

/** How it does that. */
const WAYS: Readonly<Record<string, (thrown: unknown) => () => never | Promise<never>>> = {
  throws: (thrown) => () => {
    throw thrown;
  },
  rejects: (thrown) => async () => {
    await Promise.resolve();
    throw thrown;
  },
  'rejects at once': (thrown) => () => Promise.reject(thrown),
  'gives a thenable that rejects': (thrown) => () => {
    const then = (_: unknown, reject: (reason: unknown) => void): void => reject(thrown);
    // oxlint-disable-next-line unicorn/no-thenable
    return { then } as unknown as Promise<never>;
  },
};

function named(thrown: unknown): string {
  return thrown instanceof Error ? 'an error' : (JSON.stringify(thrown) ?? 'undefined');
}

describe('a callback of the user', () => {
  let backend: MemoryBackend;
  let semaphore: Semaphore;
  let unhandled: unknown[];
  let others: NodeJS.UnhandledRejectionListener[];
  const note = (reason: unknown): void => void unhandled.push(reason);

  beforeEach(() => {
    backend = new MemoryBackend();
    semaphore = new Semaphore(backend, 'jobs', { limit: 1 });
    unhandled = [];
    others = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection');
    process.on('unhandledRejection', note);
  });

  afterEach(async () => {
    await semaphore.close();
    process.off('unhandledRejection', note);
    for (const other of others) process.on('unhandledRejection', other);
  });

  /** Nothing of the semaphore was broken by it. */
  async function expectNothingBroken(): Promise<void> {
    await turn();
    expect(await semaphore.inspect()).to.include({ held: 0, waiting: 0 });
    expect(await semaphore.use(() => 'works')).to.equal('works');
  }

  for (const [way, make] of Object.entries(WAYS)) {
    for (const thrown of THROWN) {
      const title = `${way} with ${named(thrown)}`;

      it(`as onWaiting ${title}: the wait ends with it, and leaves nothing`, async () => {
        const holder = await semaphore.acquire();
        const reason = await reasonOf(semaphore.acquire({ onWaiting: make(thrown) }));
        if (thrown === undefined || thrown === null) expect(reason).to.be.instanceOf(Error);
        else expect(reason).to.equal(thrown);
        await holder.release();
        await expectNothingBroken();
        expect(unhandled).to.deep.equal([]);
      });

      it(`as fn of use ${title}: use rejects with it, and the permit is back`, async () => {
        expect(await reasonOf(semaphore.use(make(thrown)))).to.equal(thrown);
        expect(await reasonOf(semaphore.tryUse(make(thrown)))).to.equal(thrown);
        await expectNothingBroken();
        expect(unhandled).to.deep.equal([]);
      });

      it(`as authorize ${title}: onError gets it, and nothing is shown`, async () => {
        const told: unknown[] = [];
        const onError = (error: unknown): void => void told.push(error);
        const view = webView(backend, { authorize: make(thrown), onError });
        expect((await get(view, '/')).status).to.equal(500);
        expect(told).to.deep.equal([thrown]);
        await expectNothingBroken();
        expect(unhandled).to.deep.equal([]);
      });

      it(`as a listener ${title}: it is the user's own, and every other part continues`, async () => {
        const heard: string[] = [];
        const own: () => unknown = make(thrown);
        const lose = async (handle: Handle): Promise<void> => {
          handle.on('lost', own).on('lost', () => void heard.push('lost'));
          handle.on('released', own).on('released', () => void heard.push('released'));
          await semaphore.revoke(handle.id);
          expect(await handle.release()).to.equal(false);
        };
        semaphore.on('warning', own);
        const election = new Election(backend, 'leader');
        election.on('leader', own);
        const uncaught = await uncaughtDuring(async () => {
          await lose(await semaphore.acquire());
          // A permit that is lost without a look is a warning.
          await semaphore.use(({ id }) => semaphore.revoke(id));
          await election.campaign();
          await turn();
        });
        expect(heard).to.deep.equal(['lost', 'released']);
        const wasThrown = way === 'throws' ? 4 : 0;
        expect(uncaught).to.deep.equal(Array.from({ length: wasThrown }, () => thrown));
        const wasRejected = way.startsWith('rejects') ? 4 : 0;
        expect(unhandled).to.deep.equal(Array.from({ length: wasRejected }, () => thrown));
        semaphore.removeAllListeners();
        await election.close();
        await expectNothingBroken();
      });
    }
  }

  it('as onWaiting that rejects when the wait is over changes nothing', async () => {
    const holder = await semaphore.acquire();
    let reject: (reason: Error) => void = () => {};
    const late = new Promise<void>((_, onReject) => (reject = onReject));
    let called: () => void = () => {};
    const waits = new Promise<void>((resolve) => (called = resolve));
    const waiting = semaphore.acquire({
      onWaiting: () => {
        called();
        return late;
      },
    });
    await waits;
    await holder.release();
    const handle = await waiting;
    reject(new Error('too late'));
    await turn();
    expect(handle.held).to.equal(true);
    await handle.release();
    await expectNothingBroken();
    expect(unhandled).to.deep.equal([]);
  });

  for (const method of ['monotonic', 'wall'] as const) {
    it(`as clock.${method} gives a number, else it is refused at once`, async () => {
      for (const [way, make] of Object.entries(WAYS)) {
        if (way === 'rejects at once') continue;
        const clock = Object.assign(new ManualClock(), { [method]: make('no time') });
        const open = (): Semaphore => new Semaphore(backend, 'timed', { limit: 1, clock });
        expect(open, way).to.throw();
      }
      await expectNothingBroken();
    });

    it(`as clock.${method} throws later: the call rejects with that`, async () => {
      const clock = new ManualClock();
      const timed = new Semaphore(backend, 'timed', { limit: 1, clock });
      const broken = new Error('no time');
      Object.assign(clock, { [method]: WAYS['throws']?.(broken) });
      const call = timed.acquire(0);
      expect(await reasonOf(call)).to.satisfy(
        (reason: Error) => reason === broken || reason.cause === broken,
      );
      expect(unhandled).to.deep.equal([]);
    });
  }
});
