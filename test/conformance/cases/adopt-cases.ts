import { expect } from 'chai';

import type { Handle, HandleData } from '../../../src/index.js';
import { ClosedError, HandleLostError } from '../../../src/index.js';
import type { CaseGroup } from '../case-group.js';
import { needing } from '../case-group.js';
import { eventually } from '../../support/eventually.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
import { lossToldAtOnce } from '../told-at-once.js';

const retry = { min: 5, max: 20 };

/** As it comes out of a queue's message. */
function sent(handle: Handle): HandleData {
  return JSON.parse(JSON.stringify(handle)) as HandleData;
}

function lossOf(handle: Handle): Promise<HandleLostError> {
  return new Promise((resolve) => {
    handle.once('lost', resolve);
  });
}

/** It learns from Redis that its ticket is gone, and gives nothing back. */
async function expectEnded(handle: Handle): Promise<void> {
  expect(await errorOf(handle.extend(), HandleLostError)).to.include({ reason: 'missing' });
  expect(handle.held).to.equal(false);
  expect(await handle.release()).to.equal(false);
}

/** What can be no ticket of a semaphore called `name`, and how the message begins. */
function badTickets(name: string): readonly (readonly [unknown, RegExp])[] {
  const good = { name, id: 'abc.1', slots: [0], fencingToken: 5 };
  return [
    [undefined, /^ticket: .* got undefined/],
    [null, /^ticket: .* got null/],
    ['abc.1', /^ticket: .* got 'abc.1'/],
    [{}, /^ticket\.name: .*this semaphore, got undefined/],
    [{ ...good, name: 'other' }, /^ticket\.name: .*this semaphore, got 'other'/],
    [{ ...good, id: undefined }, /^ticket\.id: .*got undefined/],
    [{ ...good, id: 'abc' }, /^ticket\.id: .*got 'abc'/],
    [{ ...good, id: 'abc.1|2' }, /^ticket\.id: /],
    [{ ...good, id: 'abc.1 2' }, /^ticket\.id: /],
    [{ ...good, id: 'abc.1~x.1~y.1' }, /^ticket\.id: /],
    [{ ...good, slots: [] }, /^ticket\.slots: .*got \[\]/],
    [{ ...good, slots: ['0'] }, /^ticket\.slots: /],
    [{ ...good, slots: 1 }, /^ticket\.slots: .*got 1/],
    [{ ...good, fencingToken: 1.5 }, /^ticket\.fencingToken: .*got 1.5/],
    [{ ...good, fencingToken: undefined }, /^ticket\.fencingToken: /],
  ];
}

export const adoptCases: CaseGroup = {
  title: 'hand-over',
  cases: {
    'goes on elsewhere with the same slots and a higher token': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 3 }), scope.elsewhere({ limit: 3 })];
      await here.acquire();
      const first = await here.acquire();
      const later = await here.acquire();
      const adopted = await there.adopt(sent(first));
      expect(adopted).to.include({ name: scope.name, held: true, slot: 1 });
      expect(adopted.fencingToken).to.be.greaterThan(later.fencingToken);
      expect(adopted.expiresIn).to.be.within(20_000, 30_000);
      expect(await there.inspect()).to.include({ held: 3, waiting: 0 });
      expect(await there.tryAcquire()).to.equal(null);
      expect(await adopted.release()).to.equal(true);
      expect(await here.tryAcquire()).to.include({ slot: 1 });
    },

    'ends the first handle without giving the permit back': async (scope) => {
      const [here, there] = [scope.semaphore(), scope.elsewhere()];
      const first = await here.acquire();
      const adopted = await there.adopt(sent(first));
      expect(await first.release()).to.equal(false);
      expect(await there.inspect()).to.include({ held: 1 });
      expect(await there.tryAcquire()).to.equal(null);
      await adopted.extend();
      expect(adopted.held).to.equal(true);
    },

    'tells the first holder at its next extension at the latest': async (scope) => {
      const here = scope.semaphore({ extendEvery: 20, retry });
      const first = await here.acquire();
      const lost = lossOf(first);
      const adopted = await scope.elsewhere().adopt(sent(first));
      const error = await scope.within(10_000, lost);
      expect(error).to.include({ reason: 'missing', ticketId: first.id });
      expect(first.signal.aborted).to.equal(true);
      expect(await first.release()).to.equal(false);
      expect(adopted.held).to.equal(true);
      await adopted.extend();
    },

    'tells the first holder at once where its process waits': needing('push', async (scope) => {
      const error = await lossToldAtOnce(scope, (there, handle) => there.adopt(sent(handle)));
      expect(error).to.include({ reason: 'missing' });
    }),

    'tells the first holder at once in the same process': async (scope) => {
      const semaphore = scope.semaphore();
      const first = await semaphore.acquire();
      const adopted = await scope.semaphore({ label: 'another' }).adopt(sent(first));
      expect([first.held, adopted.held]).to.deep.equal([false, true]);
      expect(() => first.assertHeld()).to.throw(HandleLostError);
    },

    'extends the ticket from then on': async (scope) => {
      const first = await scope.semaphore({ ttl: 5000, extendEvery: 0 }).acquire();
      const there = scope.elsewhere({ ttl: 60_000, extendEvery: 20, retry });
      const adopted = await there.adopt(sent(first));
      for (let round = 0; round < 2; round += 1) {
        await scope.ageTicket(adopted, 10_000);
        await eventually(async () => {
          const { holders } = await there.inspect();
          expect(holders[0]?.expiresIn).to.be.greaterThan(50_000);
        });
      }
      expect(adopted.held).to.equal(true);
    },

    'lives on when the first semaphore is closed': async (scope) => {
      const [here, there] = [scope.semaphore(), scope.elsewhere()];
      const adopted = await there.adopt(sent(await here.acquire()));
      await here.close();
      expect(await there.inspect()).to.include({ held: 1 });
      await adopted.extend();
      expect(await adopted.release()).to.equal(true);
    },

    'keeps all slots of a ticket of several permits': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 5 }), scope.elsewhere({ limit: 5 })];
      const one = await here.acquire();
      await here.acquire();
      await one.release();
      const three = await here.acquire({ permits: 3 });
      const adopted = await there.adopt(sent(three));
      expect(adopted.slots).to.deep.equal([0, 2, 3]);
      expect(await there.inspect()).to.include({ held: 4 });
      expect(await adopted.release()).to.equal(true);
      expect(await there.inspect()).to.include({ held: 1 });
      expect((await here.acquire({ permits: 4, timeout: 0 })).slots).to.deep.equal([0, 2, 3, 4]);
    },

    'shows the new holder in inspect, and its time from then on': async (scope) => {
      const here = scope.semaphore({ label: 'first' });
      const there = scope.elsewhere({ label: 'second; a|b' });
      const first = await here.acquire();
      const adopted = await there.adopt(sent(first));
      const { holders } = await here.inspect();
      expect(holders).to.have.lengthOf(1);
      const { id, fencingToken } = adopted;
      expect(holders[0]).to.include({ id, fencingToken, label: 'second; a|b' });
      expect(holders[0]?.slots).to.deep.equal(adopted.slots);
      expect(id).to.not.equal(first.id);
    },

    'of a ticket that is gone rejects: released, expired, deleted, never there': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 4 }), scope.elsewhere({ limit: 4 })];
      const [released, expired, deleted] = [
        await here.acquire(),
        await here.acquire(),
        await here.acquire(),
      ];
      await released.release();
      await scope.ageTicket(expired, 0);
      await scope.removeTicket(deleted);
      const never = { ...sent(released), id: 'nobody.1' };
      for (const ticket of [sent(released), sent(expired), sent(deleted), never]) {
        const error = await errorOf(there.adopt(ticket), HandleLostError);
        expect(error).to.include({ reason: 'missing', ticketId: ticket.id, semaphore: scope.name });
      }
      expect(await there.inspect()).to.include({ held: 0 });
    },

    'of a request that still waits rejects, and leaves it in its place': async (scope) => {
      const [here, there] = [scope.semaphore({ retry }), scope.elsewhere()];
      const holder = await there.acquire();
      const waiting = here.acquire();
      await scope.untilWaiting(1);
      const id = (await there.inspect()).waiters[0]?.id ?? '';
      await errorOf(there.adopt({ ...sent(holder), id }), HandleLostError);
      expect(await there.inspect()).to.include({ held: 1, waiting: 1 });
      await holder.release();
      expect(await waiting).to.include({ held: true });
    },

    'by two: the later wins and the earlier is lost': async (scope) => {
      const [here, there] = [scope.semaphore({ retry }), scope.elsewhere({ retry })];
      const first = await here.acquire();
      const message = sent(first);
      const earlier = await there.adopt(message);
      const later = await here.adopt(message);
      expect(later.held).to.equal(true);
      expect(later.fencingToken).to.be.greaterThan(earlier.fencingToken);
      await expectEnded(earlier);
      expect(await first.release()).to.equal(false);
      expect(await there.inspect()).to.include({ held: 1 });
      expect(await later.release()).to.equal(true);
      await errorOf(there.adopt(message), HandleLostError);
    },

    'can be handed on, and back': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 2 }), scope.elsewhere({ limit: 2 })];
      const handles = [await here.acquire({ permits: 2 })];
      for (let turn = 0; turn < 6; turn += 1) {
        const last = handles.at(-1);
        if (last === undefined) throw new Error('there is one');
        handles.push(await (turn % 2 === 0 ? there : here).adopt(sent(last)));
      }
      const current = handles.pop();
      expect(current?.slots).to.deep.equal([0, 1]);
      const tokens = handles.map(({ fencingToken }) => fencingToken);
      expect(tokens).to.deep.equal(tokens.toSorted((a, b) => a - b));
      for (const handle of handles) expect(await handle.release()).to.equal(false);
      expect(await there.inspect()).to.include({ held: 2 });
      expect(await current?.release()).to.equal(true);
      expect(await there.inspect()).to.include({ held: 0 });
    },

    'by the first holder itself leaves it with a new handle': async (scope) => {
      const semaphore = scope.semaphore();
      const first = await semaphore.acquire();
      const again = await semaphore.adopt(sent(first));
      expect([first.held, again.held]).to.deep.equal([false, true]);
      expect(await first.release()).to.equal(false);
      expect(await again.release()).to.equal(true);
    },

    'does not disturb those who wait': async (scope) => {
      const [here, there] = [scope.semaphore({ retry }), scope.elsewhere({ retry })];
      const first = await here.acquire();
      const waits = [there.acquire()];
      await scope.untilWaiting(1);
      waits.push(here.acquire());
      await scope.untilWaiting(2);
      const before = (await there.inspect()).waiters.map(({ id }) => id);
      const adopted = await there.adopt(sent(first));
      expect(await first.release()).to.equal(false);
      const state = await there.inspect();
      expect(state).to.include({ held: 1, waiting: 2 });
      expect(state.waiters.map(({ id }) => id)).to.deep.equal(before);
      expect(await adopted.release()).to.equal(true);
      const next = await waits[0];
      expect(next).to.include({ held: true });
      await next?.release();
      expect(await waits[1]).to.include({ held: true });
    },

    'works beyond a limit that has shrunk': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 3 }), scope.elsewhere({ limit: 3 })];
      await here.acquire({ permits: 2 });
      const first = await here.acquire();
      await here.setLimit(1);
      const adopted = await there.adopt(sent(first));
      expect(adopted).to.include({ slot: 2, held: true });
      expect(await there.inspect()).to.include({ held: 3, limit: 1 });
      expect(there.limit).to.equal(1);
    },

    'refuses what is no ticket of this semaphore': async (scope) => {
      const semaphore = scope.semaphore();
      for (const [ticket, message] of badTickets(scope.name)) {
        const error = await errorOf(semaphore.adopt(ticket as HandleData), TypeError);
        expect(error.message).to.match(message);
      }
    },

    'into a semaphore that is closed is refused, and leaves the ticket alone': async (scope) => {
      const [here, there] = [scope.semaphore(), scope.elsewhere()];
      const first = await here.acquire();
      await there.close();
      await errorOf(there.adopt(sent(first)), ClosedError);
      await first.extend();
      expect(await first.release()).to.equal(true);
    },

    'under way while its semaphore closes ends, and holds nothing': async (scope) => {
      const [here, there] = [scope.semaphore(), scope.elsewhere()];
      const first = await here.acquire();
      const adopting = reasonOf(there.adopt(sent(first)));
      await there.close();
      expect(await adopting).to.be.instanceOf(ClosedError);
      await eventually(async () => expect(await here.inspect()).to.include({ held: 0 }));
    },
  },
};
