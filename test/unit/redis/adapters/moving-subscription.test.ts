import { expect } from 'chai';
import { useFakeTimers } from 'sinon';

import {
  anyReady,
  type Attempt,
  isRefusal,
  movingSubscription,
} from '../../../../src/redis/adapters/moving-subscription.js';
import { collected } from './fake-clients.js';

/** One attempt whose every step the test decides. */
class Step implements Attempt {
  readonly onLost: () => void;
  readonly subscribed: Promise<void>;
  closed = 0;
  succeed: () => void = () => {};
  fail: (error: Error) => void = () => {};

  constructor(onLost: () => void) {
    this.onLost = onLost;
    this.subscribed = new Promise((resolve, reject) => {
      this.succeed = resolve;
      this.fail = reject;
    });
  }

  close(): Promise<void> {
    this.closed += 1;
    return Promise.resolve();
  }
}

describe('a subscription that moves', () => {
  function moving() {
    const clock = useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const steps: Step[] = [];
    const { health, failures, events } = collected();
    const subscription = movingSubscription((onLost) => {
      const step = new Step(onLost);
      steps.push(step);
      return step;
    }, events);
    const step = (index: number): Step => {
      const found = steps[index];
      if (found === undefined) throw new Error(`there were only ${steps.length} attempts`);
      return found;
    };
    return { clock, steps, step, health, failures, subscription };
  }

  it('is healthy once the server has confirmed it', async () => {
    const { clock, step, health } = moving();
    expect(health).to.deep.equal([]);
    step(0).succeed();
    await clock.tickAsync(0);
    expect(health).to.deep.equal([true]);
  });

  it('moves after a pause when it is lost, and says both', async () => {
    const { clock, steps, step, health } = moving();
    step(0).succeed();
    await clock.tickAsync(60_000);
    step(0).onLost();
    step(0).onLost();
    expect(health).to.deep.equal([true, false]);
    expect(step(0).closed).to.equal(1);
    expect(steps).to.have.length(1);
    await clock.tickAsync(1000);
    expect(steps).to.have.length(2);
    step(0).onLost();
    step(1).succeed();
    await clock.tickAsync(60_000);
    expect(health).to.deep.equal([true, false, true]);
    expect(steps).to.have.length(2);
  });

  it('moves when it cannot connect', async () => {
    const { clock, steps, step } = moving();
    step(0).fail(new Error('connect ECONNREFUSED'));
    await clock.tickAsync(1000);
    expect(step(0).closed).to.equal(1);
    expect(steps).to.have.length(2);
  });

  it('moves away from a node that says nothing', async () => {
    const { clock, steps, step } = moving();
    await clock.tickAsync(10_000);
    expect(step(0).closed).to.equal(1);
    expect(steps.length).to.be.at.least(2);
  });

  it('says so and stays away where it is refused', async () => {
    const { clock, steps, step, health, failures } = moving();
    step(0).fail(new Error('NOPERM no permissions'));
    await clock.tickAsync(0);
    step(0).onLost();
    await clock.tickAsync(60_000);
    expect(health).to.deep.equal([false]);
    expect(failures).to.have.length(1);
    expect(step(0).closed).to.equal(1);
    expect(steps).to.have.length(1);
  });

  it('says and does nothing more once it is closed', async () => {
    for (const when of ['before', 'while', 'after']) {
      const { clock, steps, step, health, subscription } = moving();
      if (when !== 'before') step(0).succeed();
      await clock.tickAsync(0);
      if (when === 'after') step(0).onLost();
      health.splice(0);
      await subscription.close();
      step(0).succeed();
      step(0).onLost();
      await clock.tickAsync(60_000);
      expect({ health, attempts: steps.length, closed: step(0).closed }, when).to.deep.equal({
        health: [],
        attempts: 1,
        closed: 1,
      });
      clock.restore();
    }
  });

  it('does not speak against its successor when it is refused after it was closed', async () => {
    const { clock, step, health, failures, subscription } = moving();
    await subscription.close();
    step(0).fail(new Error('NOPERM no permissions'));
    await clock.tickAsync(0);
    expect([...health, ...failures]).to.deep.equal([]);
  });

  it('takes a node that is ready, and no other', () => {
    expect(anyReady([1, 2, 3], (node) => node === 2)).to.equal(2);
    expect([1, 2]).to.include(anyReady([1, 2], () => true));
    expect(anyReady([1, 2], () => false)).to.equal(undefined);
    expect(anyReady([], () => true)).to.equal(undefined);
  });

  it('tells a refusal from what passes', () => {
    for (const message of ['NOPERM x', 'NOAUTH x', 'WRONGPASS x', 'ERR x']) {
      expect(isRefusal(new Error(message)), message).to.equal(true);
    }
    for (const message of ['LOADING x', 'Socket closed unexpectedly', 'Connection is closed.']) {
      expect(isRefusal(new Error(message)), message).to.equal(false);
    }
  });
});
