import { expect } from 'chai';

import type { Handle } from '../../../src/index.js';
import { AcquireTimeoutError, HandleLostError } from '../../../src/index.js';
import { thrownBy } from '../bad-argument.js';
import type { CaseGroup } from '../case-group.js';
import { inTurns } from '../in-turns.js';
import { errorOf } from '../../support/rejection.js';

const retry = { min: 5, max: 20 };

/** Time passes here and is all that these cases need. */
export const expiryCases: CaseGroup = {
  title: 'the passing of time',
  needs: ['time'],
  cases: {
    'ends a wait when its timeout is over, not before and not after [P5]': async (scope) => {
      await scope.within(1000, scope.elsewhere().acquire());
      const started = scope.now();
      const waiting = errorOf(scope.semaphore().acquire(60), AcquireTimeoutError);
      const error = await scope.within(5000, waiting);
      const took = scope.now() - started;
      const longest = 60 + scope.late;
      expect(took).to.be.within(59, longest);
      expect(error.waited).to.be.within(59, longest);
    },

    'ends a ticket that is not extended [RS 13, RS 21, O 2b]': async (scope) => {
      const ttl = 400;
      const name = scope.freshName();
      const here = scope.semaphore({ ttl, extendEvery: 0 }, name);
      const there = scope.elsewhere({}, name);
      const handle = await here.acquire();
      expect(await there.tryAcquire()).to.equal(null);
      await scope.pass(ttl + 1);
      expect(await there.tryAcquire()).to.include({ held: true, slot: 0 });
      expect(handle).to.include({ held: false, expiresIn: 0 });
      expect(await handle.release()).to.equal(false);
      expect(await here.inspect()).to.include({ held: 1 });
    },

    'tells the holder by the end of the ttl, counted from before the call [P6]': async (scope) => {
      const name = scope.freshName();
      const semaphore = scope.semaphore({ ttl: 300, extendEvery: 0 }, name);
      const sent = scope.now();
      const handle = await semaphore.acquire();
      const lost = new Promise<HandleLostError>((resolve) => handle.once('lost', resolve));
      const error = await scope.within(1000, lost);
      expect(scope.now() - sent).to.be.within(290, 300 + scope.late);
      expect(error).to.include({ reason: 'expired', semaphore: name, ticketId: handle.id });
      expect(handle.held).to.equal(false);
      expect(handle.signal.reason).to.equal(error);
      expect(thrownBy(() => handle.assertHeld())).to.equal(error);
      // The server may have run the call later than it was sent: the ticket lives on for as long.
      const next = await scope.within(5000, scope.elsewhere({ retry }, name).acquire());
      expect(next.held).to.equal(true);
    },

    'makes expiresIn fall, and an extension raise it [RS 12]': async (scope) => {
      const semaphore = scope.semaphore({ ttl: 5000, extendEvery: 0 }, scope.freshName());
      const handle = await semaphore.acquire();
      const before = handle.expiresIn;
      await scope.pass(50);
      expect(before).to.be.at.most(5000);
      expect(handle.expiresIn).to.be.at.most(before - 49);
      const low = handle.expiresIn;
      await scope.within(1000, handle.extend());
      expect(handle.expiresIn).to.be.greaterThan(low);
      expect(handle.expiresIn).to.be.at.most(5000);
    },

    'does not end what is extended [RS 12, RU 1, M 24, SG]': async (scope) => {
      const ttl = 400;
      const name = scope.freshName();
      const [here, there] = [scope.semaphore({ ttl }, name), scope.elsewhere({ ttl }, name)];
      const handle = await here.acquire();
      let lost = 0;
      handle.on('lost', () => (lost += 1));
      for (let passed = 0; passed < 2.5 * ttl; passed += ttl / 2) {
        await scope.pass(ttl / 2);
        expect(await there.tryAcquire()).to.equal(null);
        expect(handle.held).to.equal(true);
      }
      expect(lost).to.equal(0);
      expect(await handle.release()).to.equal(true);
    },

    'lets a waiter in when a holder that never releases has expired [RS 31, RL4 5]': async (
      scope,
    ) => {
      await scope.elsewhere({ ttl: 100, extendEvery: 0 }).acquire();
      const started = scope.now();
      const handle = await scope.within(5000, scope.semaphore({ retry }).acquire());
      expect(handle.held).to.equal(true);
      expect(scope.now() - started).to.be.below(100 + 1000 + scope.late);
    },

    'is seen at the first statement after a stall of the event loop [P6]': async (scope) => {
      const handle = await scope.semaphore({ ttl: 100 }).acquire();
      let lost = 0;
      handle.on('lost', () => (lost += 1));
      scope.stall(110);
      expect(handle).to.include({ held: false, expiresIn: 0 });
      const error = thrownBy(() => handle.assertHeld());
      expect(error).to.be.instanceOf(HandleLostError);
      expect(error).to.include({ reason: 'expired' });
      expect(lost).to.equal(0);
      await scope.pass(20);
      expect(lost).to.equal(1);
      expect(handle.held).to.equal(false);
      expect(await scope.elsewhere().tryAcquire()).to.include({ held: true });
    },

    'is not undone by an extension after a stall [RS 23, P6]': async (scope) => {
      const handle = await scope.semaphore({ ttl: 100 }).acquire();
      scope.stall(110);
      await scope.within(1000, errorOf(handle.extend(), HandleLostError));
      expect(handle.held).to.equal(false);
      await scope.pass(20);
      const next = await scope.within(2000, scope.elsewhere({ retry }).acquire(1000));
      expect(next.held).to.equal(true);
    },

    'never lets more than the limit in, wave after wave [RS 15]': async (scope) => {
      const options = { limit: 3, ttl: 100, extendEvery: 0, retry };
      const semaphores = [scope.semaphore(options), scope.elsewhere(options)];
      const handles: Handle[] = [];
      const contenders = inTurns(semaphores, 6, async (semaphore) => {
        handles.push(await semaphore.acquire());
        expect(handles.filter(({ held }) => held).length).to.be.at.most(3);
      });
      await scope.within(5000, contenders);
      expect(new Set(handles.map(({ id }) => id))).to.have.lengthOf(6);
      expect(new Set(handles.map(({ slot }) => slot))).to.deep.equal(new Set([0, 1, 2]));
    },

    'is not counted in what inspect tells [M 33, P1]': async (scope) => {
      await scope.elsewhere({ limit: 3, ttl: 100, extendEvery: 0 }).acquire();
      // Long enough for its calls: none may take longer than the ttl.
      const semaphore = scope.semaphore({ limit: 3 });
      await scope.pass(101);
      expect(await semaphore.inspect()).to.deep.include({ held: 0, holders: [] });
      expect(await semaphore.tryAcquire({ permits: 3 })).to.include({ held: true });
    },
  },
};
