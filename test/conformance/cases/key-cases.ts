import { expect } from 'chai';

import { eventually } from '../../support/eventually.js';
import { reasonOf } from '../../support/rejection.js';
import { caseGroup, untilState } from '../scope.js';

const DAY = 86_400_000;

/**
 * P8: no key without an expiry, and nothing but `info`, and the sign in `tickets` that keeps that
 * key, after the last ticket and waiter.
 */
export const keyCases = caseGroup('keys', ['keys'], (it) => {
  it('all have one hash tag and an expiry, no shorter than a ticket’s [P8]', async (scope) => {
    const [here, there] = scope.pair({ limit: 3 }, `${scope.name}-{b}c`);
    const [first, second] = [await here.acquire(), await here.acquire(), await here.acquire()];
    await second.release();
    await here.acquire();
    await first.release();
    const waiting = reasonOf(there.acquire({ permits: 3 }));
    await untilState(here, { waiting: 1 });
    const keys = await scope.place.keys(`redsem:{${scope.name}-`);
    const names = [...keys.keys()].map((key) => /^[^{]*\{([^{}]+)\}:(\w+)$/.exec(key) ?? []);
    expect(new Set(names.map(([, tag]) => tag)))
      .to.have.lengthOf(1)
      .and.not.include(undefined);
    expect(names.map(([, , part]) => part)).to.include.members(['tickets', 'queue', 'info']);
    for (const [key, left] of keys) expect(left, key).to.be.greaterThan(20_000);
    await scope.end();
    await waiting;
  });

  it('of stripes are one key, which stays for a day [P8]', async (scope) => {
    await scope.keyed({ stripes: 16 })[1].use('key', () => {});
    await eventually(async () => {
      const keys = await scope.ownKeys(`keyed:${scope.name}`);
      expect([...keys.keys()]).to.deep.equal(['stripes']);
      expect(keys.get('stripes')).to.be.within(DAY - 60_000, DAY);
    });
  });
});
