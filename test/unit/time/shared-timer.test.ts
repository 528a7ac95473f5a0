import { expect } from 'chai';
import { useFakeTimers } from 'sinon';

import { ManualClock } from '../../../src/index.js';
import { systemClock } from '../../../src/time/clock.js';
import { Wakeup } from '../../../src/time/shared-timer.js';
import { collectUntil } from '../../support/garbage.js';
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

  it('ring in time after they were stopped and set again, to later and to earlier times', async () => {
    const { clock, rang, wakeup } = fixture();
    const moved = Array.from({ length: 200 }, (_, i) => wakeup(`${i}`));
    wakeup('kept').wakeBy(500, 0);
    for (const [i, one] of moved.entries()) {
      one.wakeBy(100 + i, 0);
      one.stop();
      if (i % 2 === 0) one.wakeBy(300 + i, 0);
      if (i % 4 === 0) one.wakeBy(50 + i, 0);
    }
    await clock.advance(400);
    const expected = moved.flatMap((_, i) =>
      i % 2 === 0 ? [[`${i}`, (i % 4 === 0 ? 50 : 300) + i]] : [],
    );
    expect(rang).to.have.deep.members(expected.filter(([, at]) => Number(at) <= 400));
    await clock.advance(200);
    expect([rang.length, clock.timers]).to.deep.equal([expected.length + 1, 0]);
  });

  it('are forgotten once they were stopped, also while others are set', async () => {
    const { clock, wakeup } = fixture();
    wakeup('kept').wakeBy(1e9, 0);
    const collected = new Set<number>();
    const registry = new FinalizationRegistry<number>((i) => collected.add(i));
    for (let i = 0; i < 1000; i += 1) {
      const stopped = wakeup(`${i}`);
      registry.register(stopped, i);
      stopped.wakeBy(500, 0);
      stopped.stop();
    }
    await collectUntil(() => collected.size > 900);
    await clock.advance(1e9);
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
