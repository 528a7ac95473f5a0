import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
import { reasonOf } from '../support/rejection.js';
import { QuorumFixture } from './quorum-fixture.js';

describe('options that need a queue, on a quorum', () => {
  it('are refused at once, with the reason', async () => {
    const backend = new QuorumFixture(3, 1).backend('a');
    const semaphore = new Semaphore(backend, 'no queue', { limit: 1 });
    for (const [option, asked] of Object.entries({
      group: { group: 'a', weight: 2 },
      priority: { priority: 1 },
    })) {
      const error = await reasonOf(semaphore.acquire(asked));
      expect(error).to.be.instanceOf(TypeError);
      const message = `${option}: expected none, because a quorum has no queue, got `;
      expect(error).to.have.property('message').that.includes(message);
    }
    expect(() => new Semaphore(backend, 'bounded', { limit: 1, maxWaiting: 5 })).to.throw(
      TypeError,
      'maxWaiting: expected none, because a quorum has no queue, got 5 (number)',
    );
    // What they do not change is no reason to refuse.
    await (await semaphore.acquire({ priority: 0, timeout: 0 })).release();
    await semaphore.close();
  });
});
