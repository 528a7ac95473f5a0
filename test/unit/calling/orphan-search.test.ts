import { expect } from 'chai';

import { OrphanSearch } from '../../../src/calling/orphan-search.js';
import { ManualClock } from '../../../src/index.js';
import { later } from '../stub-fixture.js';

describe('a search for what nobody wants', () => {
  it('looks at a semaphore when the look before has ended, however long that takes', async () => {
    const clock = new ManualClock();
    const silence = later<void>();
    const looks: string[] = [];
    const search = new OrphanSearch(clock, async ({ name }) => {
      looks.push(name);
      if (name === 'slow') await silence.promise;
    });
    for (const name of ['slow', 'next']) search.add({ prefix: 'redsem', name }, 1);
    await clock.advance(4000);
    expect(looks).to.deep.equal(['slow']);
    silence.resolve();
    await clock.advance(1000);
    expect([looks, clock.timers]).to.deep.equal([['slow', 'next'], 0]);
  });
});
