import { expect } from 'chai';

import type { Handle, HandleData, Semaphore } from '../../../src/index.js';
import { HandleLostError } from '../../../src/index.js';
import { moment } from '../../support/moment.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
import { caseGroup, expectLost, untilLost, untilState } from '../scope.js';

/** As it comes out of a queue's message. */
function sent(handle: Handle): HandleData {
  return JSON.parse(JSON.stringify(handle)) as HandleData;
}

/** Two ways to take a ticket from its holder. */
const TAKINGS = [
  { reason: 'missing', take: (by: Semaphore, handle: Handle) => by.adopt(sent(handle)) },
  { reason: 'revoked', take: (by: Semaphore, handle: Handle) => by.revoke(handle.id) },
] as const;

export const operatorCases = caseGroup('adopt and revoke', ['operator calls'], (it) => {
  it('adopt gives the same slots under a new id with a higher token', async (scope) => {
    const [here, there] = scope.pair({ limit: 5, label: 'second; a|b' });
    const [one, two] = [await here.acquire(), await here.acquire()];
    await one.release();
    const three = await here.acquire({ permits: 3 });
    const { name, id, fencingToken } = three;
    expect(sent(three)).to.deep.equal({ name, id, slots: [0, 2, 3], fencingToken });
    const adopted = await there.adopt(sent(three));
    expect(adopted).to.include({ name: scope.name, held: true, slot: 0 });
    expect(adopted.slots).to.deep.equal([0, 2, 3]);
    expect(adopted.id).to.not.equal(id);
    expect(adopted.fencingToken).to.be.greaterThan(fencingToken);
    expect(adopted.expiresIn).to.be.within(20_000, 30_000);
    expect(await three.release()).to.equal(false);
    const { held, waiting, holders } = await here.inspect();
    expect({ held, waiting }).to.deep.equal({ held: 4, waiting: 0 });
    const shown = { fencingToken: adopted.fencingToken, slots: [0, 2, 3], label: 'second; a|b' };
    expect(holders.find((holder) => holder.id === adopted.id)).to.deep.include(shown);
    // The first process may go.
    await two.release();
    await here.close();
    await adopted.extend();
    expect(await adopted.release()).to.equal(true);
    expect(await there.inspect()).to.include({ held: 0 });
  });

  it('the holder learns of it at its next extension, in the same process at once', async (scope) => {
    const [near, far] = scope.pair({ limit: 9 });
    const ways = [near, far].flatMap((by) => TAKINGS.map((taking) => ({ by, ...taking })));
    for (const { by, reason, take } of ways) {
      for (const extendEvery of [0, 20]) {
        const handle = await scope.semaphore({ limit: 9, extendEvery }).acquire();
        const lost = untilLost(handle);
        await take(by, handle);
        if (by === near) expect(handle.held).to.equal(false);
        else if (extendEvery === 0) await errorOf(handle.extend(), HandleLostError);
        await expectLost(handle, await lost, reason);
      }
    }
  });

  it('an id without a live ticket can be neither adopted nor revoked', async (scope) => {
    const [here, there] = scope.pair({ limit: 4 });
    const [released, expired] = [await here.acquire(), await here.acquire()];
    const [deleted, first] = [await here.acquire(), await here.acquire()];
    await released.release();
    await scope.ageTicket(expired, 0);
    await scope.removeTicket(deleted);
    const adopted = await there.adopt(sent(first));
    const holder = await there.acquire({ permits: 3 });
    const waiting = here.acquire();
    await scope.untilWaiting(1);
    const request = (await there.inspect()).waiters[0]?.id ?? '';
    for (const id of [released.id, expired.id, deleted.id, 'never.1', request]) {
      const error = await errorOf(there.adopt({ ...sent(released), id }), HandleLostError);
      expect(error).to.include({ reason: 'missing', ticketId: id, semaphore: scope.name });
      expect(await there.revoke(id), id).to.equal(false);
    }
    expect(await there.revoke(first.id), 'adopted under another id').to.equal(false);
    await Promise.all([holder.extend(), adopted.extend()]);
    await untilState(there, { held: 4, waiting: 1 });
    expect(await here.revoke(adopted.id)).to.equal(true);
    expect(await here.revoke(adopted.id), 'a second time').to.equal(true);
    await errorOf(here.adopt(sent(adopted)), HandleLostError);
    const next = await waiting;
    await Promise.all([next.extend(), holder.extend()]);
    expect(await errorOf(adopted.extend(), HandleLostError)).to.include({ reason: 'revoked' });
  });
});

export const operatorPushCases = caseGroup('adopt and revoke', ['operator calls', 'push'], (it) => {
  // The holder never extends, but its process waits beside holding. The first pushes may go before
  // the subscription of the process is there.
  for (const { reason, take } of TAKINGS) {
    it(`the holder learns of it at once where its process waits: ${reason}`, async (scope) => {
      const options = { limit: 6, ttl: 3_600_000, extendEvery: 0 };
      const [here, there] = [scope.semaphore(options), scope.elsewhere({ limit: 6 })];
      await there.acquire();
      const handles = await Promise.all([1, 2, 3, 4, 5].map(() => here.acquire()));
      const waiting = reasonOf(here.acquire({ permits: 6 }));
      await scope.untilWaiting(1);
      const first = Promise.race(handles.map(untilLost));
      for (const handle of handles) {
        if (handles.every(({ signal }) => !signal.aborted)) await take(there, handle);
        await Promise.race([first, moment(200)]);
      }
      expect(await first).to.include({ reason });
      await here.close();
      await waiting;
    });
  }
});
