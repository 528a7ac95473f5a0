import { expect } from 'chai';

import type { GrantListener } from '../../src/backend.js';
import type { Timer } from '../../src/clock.js';
import { Inbox } from '../../src/inbox.js';
import { ManualClock } from '../../src/manual-clock.js';
import { collectUntil } from '../support/garbage.js';
import { StubBackend, watch } from './stub-backend.js';

/** Also knows which of its timers keep the process alive. */
class NotingClock extends ManualClock {
  readonly keptAlive: boolean[] = [];

  override schedule(callback: () => void, delay: number, keepAlive?: boolean): Timer {
    this.keptAlive.push(keepAlive === true);
    return super.schedule(callback, delay);
  }
}

describe('inbox', () => {
  const LINGER = 10_000;
  const PAUSE = 5000;

  let clock: NotingClock;
  let listeners: GrantListener[];
  let closed: number;
  let closing: Promise<void>;
  let inbox: Inbox;
  let broken: boolean;

  beforeEach(() => {
    broken = false;
    clock = new NotingClock();
    listeners = [];
    closed = 0;
    closing = Promise.resolve();
    const backend = new StubBackend();
    backend.listen = (_client, _prefix, listener) => {
      listeners.push(listener);
      if (broken) throw new Error('it cannot be opened');
      const close = (): Promise<void> => {
        closed += 1;
        return closing;
      };
      return { close };
    };
    const keeper = { onGrants: () => {}, onEnded: () => {}, onFound: () => {} };
    inbox = new Inbox(backend, 'a', 'redsem', clock, keeper);
  });

  function reader() {
    const health: (boolean | 'restored')[] = [];
    return {
      health,
      onHealth: (healthy: boolean): void => void health.push(healthy),
      onRestored: (): void => void health.push('restored'),
    };
  }

  it('subscribes when somebody first waits, once for all', () => {
    inbox.add(reader());
    expect(listeners).to.have.length(0);
    inbox.await(reader());
    inbox.await(reader());
    expect(listeners).to.have.length(1);
  });

  it('keeps its subscription while anybody waits, and for some time afterwards', async () => {
    const [first, second] = [reader(), reader()];
    inbox.await(first);
    inbox.await(second);
    listeners[0]?.onHealth(true);
    inbox.remove(first);
    await clock.advance(2 * LINGER);
    expect(closed).to.equal(0);
    inbox.remove(second);
    await clock.advance(LINGER - 1);
    expect([closed, inbox.healthy]).to.deep.equal([0, true]);
    await clock.advance(1);
    expect([closed, inbox.healthy]).to.deep.equal([1, false]);
    expect(clock.keptAlive).to.not.include(true);
  });

  it('does not give up its subscription when somebody waits again in time', async () => {
    const one = reader();
    inbox.await(one);
    listeners[0]?.onHealth(true);
    inbox.remove(one);
    await clock.advance(LINGER - 1);
    inbox.await(one);
    await clock.advance(2 * LINGER);
    expect([closed, listeners.length, clock.timers]).to.deep.equal([0, 1, 0]);
  });

  it('lingers anew after each time that somebody waited', async () => {
    const one = reader();
    inbox.await(one);
    listeners[0]?.onHealth(true);
    inbox.remove(one);
    await clock.advance(LINGER / 2);
    inbox.await(one);
    inbox.remove(one);
    await clock.advance(LINGER - 1);
    expect([closed, inbox.healthy]).to.deep.equal([0, true]);
    await clock.advance(1);
    expect([closed, clock.timers]).to.deep.equal([1, 0]);
  });

  it('lingers from the last who waited on', async () => {
    const [one, other] = [reader(), reader()];
    inbox.await(one);
    inbox.await(other);
    listeners[0]?.onHealth(true);
    inbox.remove(one);
    await clock.advance(LINGER - 1);
    inbox.remove(other);
    await clock.advance(LINGER - 1);
    expect([closed, inbox.healthy]).to.deep.equal([0, true]);
    await clock.advance(1);
    expect([closed, clock.timers]).to.deep.equal([1, 0]);
  });

  it('gives up a subscription that never worked with its last waiter', () => {
    const one = reader();
    inbox.await(one);
    inbox.remove(one);
    expect(closed).to.equal(1);
  });

  it('gives up one that breaks while it lingers', () => {
    const one = reader();
    inbox.await(one);
    listeners[0]?.onHealth(true);
    inbox.remove(one);
    listeners[0]?.onHealth(false);
    expect([closed, clock.timers, inbox.healthy]).to.deep.equal([1, 0, false]);
  });

  it('closes for nobody who still waits, and is closed when its subscription is', async () => {
    const one = reader();
    inbox.await(one);
    listeners[0]?.onHealth(true);
    await inbox.close();
    expect([closed, inbox.healthy]).to.deep.equal([0, true]);
    inbox.remove(one);
    let end: () => void = () => {};
    closing = new Promise((resolve) => (end = resolve));
    const ended = watch(clock, inbox.close());
    await clock.advance(0);
    expect([closed, clock.timers, ended.done]).to.deep.equal([1, 0, false]);
    end();
    await clock.advance(0);
    expect(ended.done).to.equal(true);
  });

  it('is not healthy again by what a closed subscription tells late', async () => {
    const one = reader();
    inbox.await(one);
    listeners[0]?.onHealth(true);
    inbox.remove(one);
    await inbox.close();
    listeners[0]?.onHealth(true);
    expect(inbox.healthy).to.equal(false);
  });

  describe('whose subscription was refused', () => {
    const refuse = (): void => {
      listeners.at(-1)?.onHealth(false);
      listeners.at(-1)?.onFailed?.();
    };

    it('subscribes again after a pause, while anybody waits', async () => {
      const [one, other] = [reader(), reader()];
      inbox.await(one);
      for (let tries = 1; tries < 4; tries += 1) {
        refuse();
        expect([closed, clock.timers], `${tries}`).to.deep.equal([tries, 1]);
        inbox.await(other);
        await clock.advance(PAUSE - 1);
        inbox.remove(one);
        inbox.await(one);
        expect(listeners, `${tries}`).to.have.length(tries);
        await clock.advance(1);
        expect(listeners, `${tries}`).to.have.length(tries + 1);
      }
      expect(clock.keptAlive).to.not.include(true);
      listeners.at(-1)?.onHealth(true);
      await clock.advance(10 * PAUSE);
      expect([inbox.healthy, listeners.length, clock.timers]).to.deep.equal([true, 4, 0]);
    });

    it('does so as well when it had stood until then', async () => {
      const one = reader();
      inbox.await(one);
      listeners[0]?.onHealth(true);
      listeners[0]?.onFailed?.();
      expect([closed, inbox.healthy]).to.deep.equal([1, false]);
      await clock.advance(PAUSE);
      listeners.at(-1)?.onHealth(true);
      expect([listeners.length, inbox.healthy]).to.deep.equal([2, true]);
      expect(one.health).to.deep.equal([true, false, true, 'restored']);
    });

    it('is the same as one that throws when it is opened', async () => {
      broken = true;
      const one = reader();
      inbox.await(one);
      await clock.advance(PAUSE - 1);
      expect([listeners.length, inbox.healthy]).to.deep.equal([1, false]);
      broken = false;
      await clock.advance(1);
      listeners.at(-1)?.onHealth(true);
      expect([listeners.length, inbox.healthy]).to.deep.equal([2, true]);
    });

    it('sets no timer for nobody, and keeps the pause for who comes next', async () => {
      const one = reader();
      inbox.await(one);
      refuse();
      await clock.advance(PAUSE / 2);
      inbox.remove(one);
      expect(clock.timers).to.equal(0);
      inbox.await(one);
      expect([listeners.length, clock.timers]).to.deep.equal([1, 1]);
      await clock.advance(PAUSE / 2);
      expect([listeners.length, clock.timers]).to.deep.equal([2, 0]);
      inbox.remove(one);
      await clock.advance(2 * PAUSE);
      inbox.await(one);
      expect(listeners).to.have.length(3);
    });

    it('is quiet when it lingered, and once it is closed', async () => {
      const one = reader();
      inbox.await(one);
      listeners[0]?.onHealth(true);
      inbox.remove(one);
      refuse();
      expect([closed, clock.timers]).to.deep.equal([1, 0]);
      await inbox.close();
      await clock.advance(10 * PAUSE);
      expect([closed, listeners.length, clock.timers]).to.deep.equal([1, 1, 0]);
    });

    it('does not hasten those who poll each time that it is refused', async () => {
      const one = reader();
      inbox.await(one);
      refuse();
      await clock.advance(PAUSE);
      refuse();
      expect(one.health).to.deep.equal([]);
    });

    it('is closed only when what was refused has ended', async () => {
      let end: () => void = () => {};
      closing = new Promise((resolve) => (end = resolve));
      const one = reader();
      inbox.await(one);
      refuse();
      inbox.remove(one);
      const ended = watch(clock, inbox.close());
      await clock.advance(0);
      expect(ended.done).to.equal(false);
      end();
      await clock.advance(0);
      expect(ended.done).to.equal(true);
    });
  });

  it('keeps nothing of the subscriptions that it has given up', async () => {
    const results: WeakRef<object>[] = [];
    for (let round = 0; round < 3; round += 1) {
      closing = closingWith(results);
      const one = reader();
      inbox.await(one);
      inbox.remove(one);
      await inbox.close();
    }
    closing = Promise.resolve();
    await collectUntil(() => results.every((ref) => ref.deref() === undefined));
    await inbox.close();
  });

  /** An end that gives something, as that of a client may. */
  function closingWith(results: WeakRef<object>[]): Promise<void> {
    const result = {};
    results.push(new WeakRef(result));
    const given: Promise<unknown> = Promise.resolve(result);
    return given as Promise<void>;
  }

  it('tells all readers of its health', () => {
    const [added, waiting] = [reader(), reader()];
    inbox.add(added);
    inbox.await(waiting);
    listeners[0]?.onHealth(true);
    listeners[0]?.onHealth(false);
    expect(added.health).to.deep.equal([true, false]);
    expect(waiting.health).to.deep.equal([true, false]);
  });

  it('says that it is back after an interruption, not when it first works', () => {
    const one = reader();
    inbox.await(one);
    listeners[0]?.onHealth(false);
    listeners[0]?.onHealth(true);
    listeners[0]?.onHealth(true);
    expect(one.health).to.not.include('restored');
    listeners[0]?.onHealth(false);
    listeners[0]?.onHealth(true);
    expect(one.health.slice(-3)).to.deep.equal([false, true, 'restored']);
  });
});
