import { expect } from 'chai';
import { useFakeTimers } from 'sinon';

import { ManualClock } from '../../../src/index.js';
import { systemClock } from '../../../src/time/clock.js';
import { Wakeup } from '../../../src/time/shared-timer.js';
import { uncaughtDuring } from '../../support/uncaught.js';

describe('wake-ups', () => {
  function fixture() {
    const clock = new ManualClock();
    const rang: [string, number][] = [];
    const wakeup = (name: string, keepAlive = true) =>
      new Wakeup(clock, keepAlive, () => rang.push([name, clock.monotonic()]));
    return { clock, rang, wakeup };
  }

  it('come up to a quarter of their delay earlier beside another, not otherwise', async () => {
    const { clock, rang, wakeup } = fixture();
    wakeup('exact').wakeBy(80, 0);
    wakeup('in time').wakeAround(106, 0);
    wakeup('too far').wakeAround(107, 0);
    await clock.advance(200);
    const times = { exact: 80, 'in time': 80, 'too far': 107 };
    expect(Object.fromEntries(rang)).to.deep.equal(times);
  });

  it('ring beside an alarm that throws, whose error is uncaught', async () => {
    const { clock, rang, wakeup } = fixture();
    const bug = new Error('bug');
    const throwing = new Wakeup(clock, true, () => {
      throw bug;
    });
    for (const one of [wakeup('before'), throwing, wakeup('after')]) one.wakeBy(5, 0);
    wakeup('later').wakeBy(10, 0);
    expect(await uncaughtDuring(() => clock.advance(10))).to.deep.equal([bug]);
    expect(rang.map(([name]) => name)).to.have.members(['before', 'after', 'later']);
  });

  it('ring in time beside a fake timer that is gone', async () => {
    const fake = useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const now = systemClock.monotonic();
    const left = new Wakeup(systemClock, true, () => undefined);
    left.wakeBy(now + 1, now);
    fake.restore();
    const rang = new Promise<void>((resolve) => {
      new Wakeup(systemClock, true, resolve).wakeBy(now + 2, now);
    });
    await rang;
    expect(left.at).to.equal(Infinity);
  });
});
