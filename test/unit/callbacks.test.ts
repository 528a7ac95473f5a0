import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { spy } from 'sinon';

import { Election, ManualClock, MemoryBackend, Semaphore } from '../../src/index.js';
import { uncaughtDuring } from '../support/uncaught.js';
import { reasonOf } from '../support/rejection.js';
import { later } from './stub-fixture.js';

/** The values that a callback throws, or rejects with. */
const THROWN: readonly unknown[] = [new Error('of the user'), undefined, 0];

/** The ways of a callback to fail. */
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

  /** The semaphore works as before. */
  async function expectNothingBroken(): Promise<void> {
    await turn();
    expect(await semaphore.inspect()).to.include({ held: 0, waiting: 0 });
    expect(await semaphore.use(() => 'works')).to.equal('works');
    expect(unhandled).to.deep.equal([]);
  }

  const cases = Object.entries(WAYS).flatMap(([way, make]) =>
    THROWN.map((thrown) => ({ way, thrown, fail: make(thrown) })),
  );
  for (const { way, thrown, fail } of cases) {
    it(`as onWaiting or fn of use ${way} with ${String(thrown)} rejects the call, which leaves nothing`, async () => {
      const holder = await semaphore.acquire();
      const reason = await reasonOf(semaphore.acquire({ onWaiting: fail }));
      if (thrown === undefined) expect(reason).to.be.instanceOf(Error);
      else expect(reason).to.equal(thrown);
      await holder.release();
      expect(await reasonOf(semaphore.use(fail))).to.equal(thrown);
      expect(await reasonOf(semaphore.tryUse(fail))).to.equal(thrown);
      await expectNothingBroken();
    });

    it(`as a listener ${way} with ${String(thrown)} stays the user's own error, and every other part continues`, async () => {
      const heard: string[] = [];
      const own: () => unknown = fail;
      semaphore.on('warning', own);
      const election = new Election(backend, 'leader').on('leader', own);
      const uncaught = await uncaughtDuring(async () => {
        const handle = await semaphore.acquire();
        handle.on('lost', own).on('lost', () => void heard.push('lost'));
        handle.on('released', own).on('released', () => void heard.push('released'));
        await semaphore.revoke(handle.id);
        expect(await handle.release()).to.equal(false);
        // A permit that is lost without a look is a warning.
        await semaphore.use(({ id }) => semaphore.revoke(id));
        await election.campaign();
        await turn();
      });
      expect(heard).to.deep.equal(['lost', 'released']);
      const four = Array(4).fill(thrown);
      expect(uncaught).to.deep.equal(way === 'throws' ? four : []);
      expect(unhandled.splice(0)).to.deep.equal(way.startsWith('rejects') ? four : []);
      semaphore.removeAllListeners();
      await election.close();
      await expectNothingBroken();
    });
  }

  it('as onWaiting that rejects when the wait is over changes nothing', async () => {
    const holder = await semaphore.acquire();
    const [called, end] = [later<void>(), later<void>()];
    const onWaiting = (): Promise<void> => {
      called.resolve();
      return end.promise;
    };
    const waiting = semaphore.acquire({ onWaiting });
    await called.promise;
    await holder.release();
    const handle = await waiting;
    end.reject(new Error('too late'));
    await turn();
    expect(handle.held).to.equal(true);
    await handle.release();
    await expectNothingBroken();
  });

  for (const method of ['monotonic', 'wall'] as const) {
    it(`as clock.${method} that gives no number is refused at once, and a later error rejects the call`, async () => {
      const open = (clock: ManualClock) => new Semaphore(backend, 'timed', { limit: 1, clock });
      for (const [way, make] of Object.entries(WAYS)) {
        if (way === 'rejects at once') continue;
        const clock = Object.assign(new ManualClock(), { [method]: make('no time') });
        expect(() => open(clock), way).to.throw();
      }
      // The promises of the user's own clock.
      await turn();
      expect(unhandled.splice(0)).to.deep.equal(['no time']);
      const [clock, broken] = [new ManualClock(), new Error('no time')];
      const timed = open(clock);
      Object.assign(clock, { [method]: WAYS['throws']?.(broken) });
      const reason = (await reasonOf(timed.acquire(0))) as Error;
      expect([reason, reason.cause]).to.include(broken);
      await expectNothingBroken();
    });
  }

  it('as clock.schedule that throws rejects a call that would be tried again, without further tries', async () => {
    const [clock, broken] = [new ManualClock(), new Error('no timer')];
    const timed = new Semaphore(backend, 'timed', { limit: 1, clock });
    const inspect = spy(backend, 'inspect');
    const schedule = (): never => {
      clock.stall(1000);
      throw broken;
    };
    Object.assign(clock, { schedule });
    expect(await reasonOf(timed.inspect())).to.equal(broken);
    expect(inspect.callCount).to.equal(1);
    await expectNothingBroken();
  });
});
