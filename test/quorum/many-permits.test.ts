import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
import { QuorumFixture } from './quorum-fixture.js';

describe('many permits on a quorum', () => {
  it('are asked for less at a time where nodes cannot do as much in their time, and more again later', async () => {
    const fixture = new QuorumFixture(3, 1000);
    let each = 3;
    const sizes: number[] = [];
    for (const node of fixture.nodes) {
      // Needs its time for each request, and does nothing else meanwhile.
      node.hold = async (call) => {
        const { length } = call.requests;
        if (node === fixture.nodes[0]) sizes.push(length);
        await new Promise<void>((resolve) => fixture.clock.schedule(resolve, length * each));
        return node.memory.hold(call);
      };
    }
    const semaphore = new Semaphore(fixture.backend('a'), 'batch', { limit: 1000, ttl: 1000 });
    const takeAll = async (): Promise<void> => {
      const acquiring = Array.from({ length: 90 }, () => semaphore.acquire(60_000));
      const handles = await fixture.during(Promise.all(acquiring));
      await fixture.during(Promise.all(handles.map((handle) => handle.release())));
    };
    // Each node gets 100 ms.
    await takeAll();
    expect(Math.max(...sizes)).to.equal(90);
    expect(Math.min(...sizes)).to.be.below(34);
    each = 0;
    for (let i = 0; i < 10; i += 1) await takeAll();
    expect(sizes.at(-1)).to.equal(90);
    await semaphore.close();
  });
});
