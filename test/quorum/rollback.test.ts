import { expect } from 'chai';

import { QuorumError } from '../../src/index.js';
import { errorOf } from '../support/rejection.js';
import { onAll, QuorumFixture } from './quorum-fixture.js';
import { AT_ONCE, dead, HUNG } from './troubled-node.js';

const NOTHING = onAll([]);

describe('permits of an acquisition that failed', () => {
  it('are undone on all nodes, and on silent nodes as soon as they answer', async () => {
    const fixture = new QuorumFixture(3, 1, 30_000);
    // The node executes the first call, whose reply is lost; then the node hangs.
    for (const node of fixture.nodes.slice(1)) {
      let calls = 0;
      node.fate = () => (calls++ === 0 ? { request: 0, reply: undefined } : HUNG);
    }
    await errorOf(fixture.tryFor('a.1'), QuorumError);
    expect(await fixture.holders()).to.deep.equal([[], ['a.1'], ['a.1']]);
    fixture.only('abc', dead);
    await fixture.clock.advance(3000);
    expect(await fixture.holders()).to.deep.equal(NOTHING);
    expect(fixture.clock.timers, 'nothing is left to take back').to.equal(0);
  });

  it('are undone when the call itself ran late, after it had been undone', async () => {
    const fixture = new QuorumFixture(3, 1, 30_000);
    fixture.only('a', () => HUNG);
    const late = fixture.node(1);
    let calls = 0;
    late.fate = () => (calls++ === 0 ? { request: 2000, reply: 1 } : AT_ONCE);
    await errorOf(fixture.tryFor('a.1'), QuorumError);
    await fixture.clock.advance(500);
    expect(late.calls.drop).to.be.above(0);
    expect(late.calls.take).to.equal(0);
    await fixture.clock.advance(600);
    expect(late.calls.take).to.equal(1);
    expect((await fixture.holders())[1]).to.deep.equal([]);
  });

  it('are not granted when the replies came after their validity had passed', async () => {
    const fixture = new QuorumFixture(3, 1, 1000);
    for (const node of fixture.nodes) node.fate = () => ({ request: 0, reply: 20 });
    const trying = fixture.tryFor('a.1', true);
    await fixture.clock.advance(5);
    expect(await fixture.holders()).to.deep.equal(onAll(['a.1']));
    fixture.clock.stall(995);
    expect(await trying).to.deep.equal({ kind: 'queued', arrival: undefined });
    await fixture.clock.advance(100);
    expect(await fixture.holders()).to.deep.equal(NOTHING);
  });
});

describe('a release', () => {
  it('reaches silent nodes later; is false without a majority, and an error without an answer', async () => {
    const fixture = new QuorumFixture(3, 1, 30_000);
    for (const [id, up] of [
      ['a.1', 'ab'],
      ['a.2', 'a'],
    ] as const) {
      await fixture.take(id);
      fixture.only(up, dead);
      const released = fixture.release(id);
      if (id === 'a.1') expect(await released).to.equal(true);
      else await errorOf(released, QuorumError);
      fixture.only('abc', dead);
      await fixture.clock.advance(3000);
      expect(await fixture.holders()).to.deep.equal(NOTHING);
    }
    await fixture.take('b.1');
    for (const lost of [0, 1]) fixture.node(lost).memory.restart();
    expect(await fixture.release('b.1')).to.equal(false);
  });

  it('is not followed by a late call that is sent again', async () => {
    const fixture = new QuorumFixture(3, 1);
    await fixture.take('a.1');
    await fixture.release('a.1');
    // The clocks of the nodes ran ahead; the last node gets its call late, and then says no more.
    for (const { memory } of fixture.nodes) memory.skew = 5000;
    const fates = [{ request: 50, reply: 0 }, AT_ONCE];
    fixture.node(2).fate = () => fates.shift() ?? { request: 0, reply: undefined };
    await fixture.take('a.2');
    expect(await fixture.release('a.2')).to.equal(true);
    await fixture.clock.advance(90);
    expect(await fixture.holders()).to.deep.equal(onAll([]));
  });

  it('is remembered for some seconds, also while a ticket is held for a day', async () => {
    const fixture = new QuorumFixture(3, 3, 86_400_000);
    await fixture.take('a.1');
    for (const id of ['a.2', 'a.3']) {
      await fixture.take(id);
      await fixture.release(id);
      await fixture.clock.advance(6000);
    }
    const { held } = fixture.backend('a');
    expect(['a.2', 'a.3'].map((id) => held.wasReleased(id))).to.deep.equal([false, true]);
    expect(held.get('a.1')).to.include({ label: 'label of a.1' });
  });

  it('leaves nothing of a ticket that is being won or extended', async () => {
    for (const extended of [false, true]) {
      const fixture = new QuorumFixture(3, 1, 30_000);
      if (extended) await fixture.take('a.1');
      // At the release, two nodes have done the call; the third node does it later.
      for (const node of fixture.nodes) node.fate = () => ({ request: 0, reply: 20 });
      let calls = 0;
      fixture.node(2).fate = () => ({ request: calls++ === 0 ? 30 : 0, reply: 20 });
      const calling = extended ? fixture.extend('a.1') : fixture.tryFor('a.1', true);
      await fixture.clock.advance(10);
      await fixture.release('a.1');
      expect(await calling).not.to.have.property('kind', 'granted');
      await fixture.clock.advance(100);
      expect(await fixture.holders()).to.deep.equal(NOTHING);
    }
  });
});
