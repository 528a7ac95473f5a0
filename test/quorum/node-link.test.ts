import { expect } from 'chai';

import { ManualClock } from '../../src/manual-clock.js';
import { NodeLink } from '../../src/quorum/node-link.js';
import { KEY } from './backend-bench.js';
import { TroubledNode } from './troubled-node.js';

describe('the clock of a node, as another process knows it', () => {
  it('is ahead by no more than one call may take, however late a reply was', async () => {
    const clock = new ManualClock(1_000_000);
    const node = new TroubledNode(clock, () => ({ request: 1, reply: 5000 }));
    const link = new NodeLink(node, clock);
    const listed = link.call(100, (each) => each.list(KEY));
    await clock.advance(6000);
    const { time } = await listed;
    const passed = clock.monotonic();
    expect(link.time).to.be.above(time);
    // The reply had been sent 1 ms after the call.
    expect((link.time ?? Infinity) - (time + passed - 1)).to.be.within(0, 110);
  });
});
