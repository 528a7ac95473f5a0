import { expect } from 'chai';

import type { ReleaseReply } from '../../src/backend.js';
import type { Timer } from '../../src/clock.js';
import { instant } from '../../src/clock.js';
import { BackendError } from '../../src/errors.js';
import { Lease } from '../../src/lease.js';
import { ManualClock } from '../../src/manual-clock.js';
import { TicketReturns } from '../../src/ticket-returns.js';
import { watch } from './stub-backend.js';

/** Also knows which of its timers keep the process alive. */
class NotingClock extends ManualClock {
  readonly keptAlive: boolean[] = [];

  override schedule(callback: () => void, delay: number, keepAlive?: boolean): Timer {
    this.keptAlive.push(keepAlive === true);
    return super.schedule(callback, delay);
  }
}

describe('tickets that are given back', () => {
  const TTL = 1000;

  let clock: NotingClock;
  let calls: { at: number; ids: readonly string[] }[];
  let answer: (ids: readonly string[], index: number) => Promise<ReleaseReply>;
  let released: number;
  let retryable: boolean;
  let returns: TicketReturns;

  beforeEach(() => {
    clock = new NotingClock();
    calls = [];
    released = 0;
    retryable = true;
    answer = (ids) => reply(ids, true);
    returns = new TicketReturns({
      clock,
      retry: { min: 10, max: 200, factor: 2, jitter: false },
      ttl: TTL,
      limit: TTL,
      isRetryable: () => retryable,
      call: (ids) => answer(ids, calls.push({ at: clock.monotonic(), ids }) - 1),
    });
  });

  function reply(ids: readonly string[], all: boolean): Promise<ReleaseReply> {
    return Promise.resolve({ serverTime: 0, grants: [], released: ids.map(() => all) });
  }

  function release(id: string, remaining = 900, state: Partial<Lease> = {}) {
    const keeper = { onLeaseEnd: () => {} };
    const certainty = { since: instant(clock), span: TTL };
    const ticket = { slots: [0], fencingToken: 1 };
    const lease = new Lease({ name: 'jobs', ttl: TTL, clock, keeper }, id, ticket, certainty);
    Object.assign(lease, state);
    const observer = { onReleased: () => void (released += 1) };
    return watch(clock, returns.release(lease, remaining, observer));
  }

  it('count as released when a first call failed and the next one finds nothing: it may have run', async () => {
    answer = (ids, index) => (index === 0 ? Promise.reject(new Error('cut')) : reply(ids, false));
    const outcome = release('a');
    await clock.advance(50);
    expect(outcome.value).to.equal(true);
    expect(released).to.equal(1);
    expect(calls.map(({ at }) => at)).to.deep.equal([0, 10]);
  });

  it('count as lost at once when their lease was over before, though the backend still finds them', async () => {
    const outcome = release('a', 0);
    await clock.advance(0);
    expect([released, outcome.value]).to.deep.equal([1, false]);
    expect(calls.map(({ ids }) => ids)).to.deep.equal([['a']]);
  });

  it('count as lost when the only call finds nothing', async () => {
    answer = (ids) => reply(ids, false);
    const outcome = release('a');
    await clock.advance(0);
    expect(outcome.value).to.equal(false);
  });

  it('count as lost when no call works until their lease is over', async () => {
    answer = () => Promise.reject(new Error('away'));
    const outcome = release('a', 300);
    await clock.advance(299);
    expect(outcome.done).to.equal(false);
    await clock.advance(1);
    expect(outcome).to.include({ done: true, value: false, at: 300 });
    const tries = calls.length;
    await clock.advance(5000);
    expect(calls.length).to.be.at.most(tries + 1);
    expect(clock.timers).to.equal(0);
  });

  const unsettled: Record<string, Partial<Lease>> = {
    'was never claimed': { claimed: false },
    'has an extension under way': { extending: true },
    'has an extension without an answer': { failures: 1 },
  };
  for (const [which, state] of Object.entries(unsettled)) {
    it(`are withdrawn after the end of a lease that ${which}: the ticket may outlive it`, () =>
      expectWithdrawn(state));
  }

  async function expectWithdrawn(state: Partial<Lease>): Promise<void> {
    answer = (ids) =>
      clock.monotonic() < 2000 ? Promise.reject(new Error('away')) : reply(ids, true);
    const outcome = release('a', 300, state);
    await clock.advance(300);
    expect(outcome).to.include({ done: true, value: false });
    await clock.advance(2000);
    expect(calls.at(-1)?.ids).to.deep.equal(['a']);
    expect(calls.at(-1)?.at).to.be.at.least(2000);
    expect(clock.timers).to.equal(0);
  }

  it('are told of as unconfirmed after the time of one call, and tried on', async () => {
    returns = new TicketReturns({
      clock,
      retry: { min: 10, max: 200, factor: 2, jitter: false },
      ttl: 60_000,
      limit: 5000,
      isRetryable: () => true,
      call: (ids) => {
        calls.push({ at: clock.monotonic(), ids });
        return clock.monotonic() < 7000 ? Promise.reject(new Error('away')) : reply(ids, true);
      },
    });
    const outcome = release('a', 50_000);
    await clock.advance(10_000);
    expect(outcome.at).to.equal(5000);
    expect(outcome.error).to.be.instanceOf(BackendError);
    expect(released).to.equal(1);
    expect(calls.at(-1)?.at).to.be.within(7000, 7200);
    expect(clock.timers).to.equal(0);
  });

  it('are answered each in its own time, however many wait for an answer', async () => {
    answer = () => new Promise(() => {});
    const outcomes = [600, 300, 450].map((remaining, i) => release(`a${i}`, remaining));
    await clock.advance(2000);
    expect(outcomes.map(({ at }) => at)).to.deep.equal([600, 300, 450]);
    expect(outcomes.map(({ value }) => value)).to.deep.equal([false, false, false]);
  });

  it('are drained when the last of them is confirmed, not the first', async () => {
    const gates: (() => void)[] = [];
    answer = (ids) => new Promise<void>((open) => gates.push(open)).then(() => reply(ids, true));
    returns.withdraw('a');
    await clock.advance(0);
    returns.withdraw('b');
    const drained = watch(clock, returns.drained());
    gates[0]?.();
    await clock.advance(10);
    expect(calls.map(({ ids }) => ids)).to.deep.equal([['a'], ['b']]);
    expect(drained.done).to.equal(false);
    gates[1]?.();
    await clock.advance(10);
    expect(drained.done).to.equal(true);
    expect(clock.timers).to.equal(0);
  });

  it('are waited for no longer than one call may take', async () => {
    answer = () => new Promise(() => {});
    returns.withdraw('a');
    const drained = watch(clock, returns.drained());
    await clock.advance(TTL - 1);
    expect(drained.done).to.equal(false);
    await clock.advance(1);
    expect(drained.done).to.equal(true);
  });

  it('are withdrawn for as long as a waiter counts as alive, also with a shorter ttl', async () => {
    answer = () => Promise.reject(new Error('away'));
    returns.withdraw('a');
    await clock.advance(20_000);
    // Its waiter lease of 5 s and one call more.
    expect(calls.at(-1)?.at).to.be.within(5000 + TTL - 200, 5000 + TTL + 200);
    expect(clock.timers).to.equal(0);
  });

  it('are not sent again when the first call was answered late, and no empty call goes', async () => {
    let late: () => void = () => {};
    answer = (ids) => new Promise<void>((open) => (late = open)).then(() => reply(ids, true));
    returns.withdraw('a');
    // That call is given up, and the next one is due in 10 ms.
    await clock.advance(TTL + 5);
    late();
    await clock.advance(5000);
    expect(calls.map(({ ids }) => ids)).to.deep.equal([['a']]);
    expect(clock.timers).to.equal(0);
  });

  it('are not tried on when a call that was given up fails after another has succeeded', async () => {
    let fail: (error: Error) => void = () => {};
    answer = (ids, index) =>
      index === 0 ? new Promise((_open, reject) => (fail = reject)) : reply(ids, true);
    returns.withdraw('a');
    await clock.advance(TTL + 10);
    expect(calls).to.have.length(2);
    fail(new Error('cut'));
    await clock.advance(0);
    expect(clock.timers).to.equal(0);
    const drained = watch(clock, returns.drained());
    await clock.advance(0);
    expect(drained.done).to.equal(true);
    await clock.advance(5000);
    expect(calls).to.have.length(2);
  });

  it('travel together while a call is under way', async () => {
    let open: () => void = () => {};
    answer = (ids) => new Promise<void>((resolve) => (open = resolve)).then(() => reply(ids, true));
    for (const id of ['a', 'b', 'c', 'd']) {
      release(id);
      await clock.advance(1);
    }
    expect(calls.map(({ ids }) => ids)).to.deep.equal([['a']]);
    open();
    await clock.advance(1);
    expect(calls.map(({ ids }) => ids)).to.deep.equal([['a'], ['b', 'c', 'd']]);
  });

  describe('whose call ends in the very moment in which their lease does, before any timer ran', () => {
    let fail: (error: Error) => void;
    let find: (nothing: boolean) => void;

    /** The first call fails at once, the second one is under way until the lease is over. */
    async function late() {
      answer = (ids, index) => {
        if (index === 0) return Promise.reject(new Error('cut'));
        return new Promise((open, reject) => {
          fail = reject;
          find = (nothing) => open(reply(ids, !nothing));
        });
      };
      const outcome = release('a', 300);
      await clock.advance(10);
      clock.stall(290);
      return outcome;
    }

    // Promises alone: the timers of the clock do not run.
    async function promises(): Promise<void> {
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    }

    it('count as lost when it fails, and are left', async () => {
      const outcome = await late();
      fail(new Error('cut'));
      await promises();
      expect(outcome).to.include({ done: true, value: false, error: undefined });
      const drained = watch(clock, returns.drained());
      await clock.advance(0);
      expect(drained.done).to.equal(true);
      await clock.advance(5000);
      expect(calls).to.have.length(2);
    });

    it('count as lost when it finds nothing, though the first call may have run', async () => {
      const outcome = await late();
      find(true);
      await promises();
      expect(outcome).to.include({ done: true, value: false });
    });

    it('count as released when it finds the ticket', async () => {
      const outcome = await late();
      find(false);
      await promises();
      expect(outcome).to.include({ done: true, value: true });
    });
  });

  describe('while the backend refuses', () => {
    beforeEach(() => {
      retryable = false;
      answer = () => Promise.reject(new Error('MISCONF'));
    });

    it('are withdrawn at the latest a second after it refuses no more', async () => {
      for (const id of ['a', 'b', 'c']) returns.withdraw(id);
      await clock.advance(4000);
      answer = (ids) => reply(ids, true);
      await clock.advance(1000);
      const told = calls.filter(({ at }) => at > 4000).flatMap(({ ids }) => ids);
      expect(told).to.have.members(['a', 'b', 'c']);
      await clock.advance(20_000);
      expect(calls.at(-1)?.at).to.be.at.most(5000);
    });

    it('count as drained once each was refused, and not before', async () => {
      let refuse = (): void => {};
      answer = () => new Promise((_, reject) => (refuse = () => reject(new Error('NOPERM'))));
      returns.withdraw('a');
      const drained = watch(clock, returns.drained());
      await clock.advance(10);
      expect(drained.done).to.equal(false);
      refuse();
      await clock.advance(0);
      expect(drained.done).to.equal(true);
      answer = (ids) => reply(ids, true);
      await clock.advance(2000);
      expect(calls.at(-1)?.ids).to.deep.equal(['a']);
    });

    it('are answered once: neither the answer nor the event comes again with a later try', async () => {
      const outcome = release('a');
      await clock.advance(0);
      expect([outcome.error instanceof BackendError, released]).to.deep.equal([true, 1]);
      answer = (ids) => reply(ids, true);
      await clock.advance(TTL);
      expect(calls.length).to.be.above(1);
      expect(released).to.equal(1);
      expect(clock.timers).to.equal(0);
    });
  });

  describe('while the backend is away for long', () => {
    const MANY = 150_000;

    it('cost one call and one timer for each pause, however many they are', async () => {
      answer = () => Promise.reject(new Error('away'));
      for (let i = 0; i < 5000; i++) returns.withdraw(`a${i}`);
      await clock.advance(1000);
      const [before, timers] = [calls.length, clock.timers];
      await clock.advance(2000);
      // One for each pause of 200 ms.
      expect(calls.length - before).to.equal(10);
      expect(Math.max(...calls.map(({ ids }) => ids.length))).to.be.at.most(1000);
      expect(timers).to.equal(1);
    });

    it('go all at once, when it is back', async () => {
      answer = () => Promise.reject(new Error('away'));
      const ids = Array.from({ length: 5000 }, (_, i) => `a${i}`);
      for (const id of ids) returns.withdraw(id);
      await clock.advance(1000);
      const before = calls.length;
      answer = (given) => reply(given, true);
      await clock.advance(200);
      const sent = calls.slice(before).flatMap((call) => call.ids);
      expect(new Set(sent)).to.deep.equal(new Set(ids));
      expect(sent).to.have.length(ids.length);
      expect(clock.timers).to.equal(0);
    });

    it('are kept up to a bound, the first of them', async () => {
      answer = () => Promise.reject(new Error('away'));
      for (let i = 0; i < MANY; i++) returns.withdraw(`a${i}`);
      await clock.advance(1000);
      const before = calls.length;
      answer = (ids) => reply(ids, true);
      await clock.advance(200);
      const sent = new Set(calls.slice(before).flatMap(({ ids }) => ids));
      expect(sent.size).to.equal(100_000);
      expect(sent.has('a0')).to.equal(true);
      expect(sent.has(`a${MANY - 1}`)).to.equal(false);
    });
  });

  it('keep the process alive while somebody waits for the answer, and not for their next try', async () => {
    answer = () => Promise.reject(new Error('away'));
    returns.withdraw('a');
    await clock.advance(5);
    expect(clock.keptAlive).to.not.include(true);
    release('b');
    expect(clock.keptAlive.at(-1)).to.equal(true);
    void returns.drained();
    expect(clock.keptAlive.at(-1)).to.equal(true);
    await clock.advance(10_000);
  });
});
