import { expect } from 'chai';

import { backoffDelay, type BackoffOptions } from '../../src/backoff.js';

describe('backoff', () => {
  const plain: BackoffOptions = { min: 10, max: 200, factor: 2, jitter: false };

  it('doubles from 10 to 200 ms', () => {
    const delays = Array.from({ length: 8 }, (_, attempt) => backoffDelay(plain, attempt, 0.5));
    expect(delays).to.deep.equal([10, 20, 40, 80, 160, 200, 200, 200]);
  });

  it('stays at its longest for ever', () => {
    for (const attempt of [64, 1000, 1e9, Number.MAX_SAFE_INTEGER]) {
      expect(backoffDelay(plain, attempt, 0.5)).to.equal(200);
      expect(backoffDelay({ ...plain, factor: 1000 }, attempt, 0.5)).to.equal(200);
    }
  });

  it('does not grow with factor 1', () => {
    expect(backoffDelay({ ...plain, factor: 1 }, 50, 0)).to.equal(10);
  });

  it('draws a jittered pause from the upper half of its length', () => {
    const jittered = { ...plain, jitter: true };
    expect(backoffDelay(jittered, 2, 0)).to.equal(20);
    expect(backoffDelay(jittered, 2, 0.5)).to.equal(30);
    expect(backoffDelay(jittered, 2, 0.999_999))
      .to.be.closeTo(40, 0.001)
      .and.to.be.below(40);
    expect(backoffDelay(jittered, 99, 0)).to.equal(100);
  });

  it('takes no notice of the random number without jitter', () => {
    expect(backoffDelay(plain, 0, 0)).to.equal(backoffDelay(plain, 0, 0.99));
  });
});
