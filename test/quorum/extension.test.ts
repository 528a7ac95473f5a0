import { expect } from 'chai';

import { QuorumError } from '../../src/index.js';
import { errorOf } from '../support/rejection.js';
import { KEY, onAll, QuorumFixture } from './quorum-fixture.js';
import { dead, HUNG } from './troubled-node.js';

describe('extending by majority', () => {
  it('continues with any minority dead or hung, and reports no ticket as gone without a majority', async () => {
    for (const other of [dead, () => HUNG]) {
      const fixture = new QuorumFixture(5, 2);
      await fixture.take('a.1');
      for (const three of ['abc', 'bcd', 'ace']) {
        fixture.only(three, other);
        await fixture.clock.advance(600);
        expect(await fixture.extend('a.1')).to.deep.equal([true]);
      }
    }
    const fixture = new QuorumFixture(3, 1);
    await fixture.take('a.1');
    fixture.only('a', () => HUNG);
    const error = await errorOf(fixture.extend('a.1'), QuorumError);
    expect(error.reasons.map((reason) => reason === undefined)).to.deep.equal([true, false, false]);
    expect(error.message).to.include('1 of 3 nodes answered').and.to.include('node 2: ');
    fixture.only('abc', dead);
    expect(await fixture.extend('a.1')).to.deep.equal([true]);
    for (const node of [0, 1]) fixture.node(node).fate = dead;
    fixture.node(2).fate = () => HUNG;
    const { message, reasons } = await errorOf(fixture.tryFor('a.2'), QuorumError);
    expect(message).to.include('0 of 3 nodes answered').and.to.include('node 2: no reply yet');
    expect(reasons).to.not.include(undefined);
  });

  it('puts tickets back where a minority lost them, with their slots and tokens', async () => {
    const fixture = new QuorumFixture(3, 50, 30_000);
    const ids = Array.from({ length: 24 }, (_, i) => `a.${i + 1}.2`);
    const taken = [];
    for (const id of ids) taken.push(await fixture.take(id));
    await fixture.clock.advance(10);
    // A loss by one node loses no ticket: the second node loses it when the first has it back.
    for (const lost of [1, 0]) {
      fixture.node(lost).memory.restart();
      expect(await fixture.extend(...ids)).to.deep.equal(ids.map(() => true));
      await fixture.clock.advance(10);
      expect(await fixture.holders()).to.deep.equal(onAll(ids.toSorted()));
    }
    fixture.only('ab', () => HUNG);
    const { holders } = await fixture.inspect();
    taken.forEach(({ slots, fencingToken }, i) => {
      const holder = holders.find(({ id }) => id === ids[i]);
      expect(holder).to.deep.include({ slots, fencingToken, label: `label of ${ids[i]}` });
    });
  });

  it('puts back the part that the nodes have, by a process that does not know the ticket', async () => {
    const fixture = new QuorumFixture(3, 2, 30_000);
    await fixture.take('a.1.2');
    const call = { key: KEY, limit: 2, client: 'b', ttl: 30_000, ids: ['a.1.2'] };
    const extend = () => fixture.during(fixture.backend('b').extend([call]));
    fixture.only('ac', dead);
    expect(await extend()).to.have.nested.property('[0].extended[0]', true);
    fixture.only('abc', dead);
    fixture.node(1).memory.restart();
    await extend();
    await fixture.clock.advance(10);
    const [first, second] = await Promise.all(fixture.nodes.map(({ memory }) => memory.list(KEY)));
    const { slots, token, attempt } = first?.tickets[0] ?? {};
    expect(second?.tickets[0]).to.deep.include({ slots, token, attempt });
  });

  it('loses a ticket that a majority lost, and revives it nowhere', async () => {
    const fixture = new QuorumFixture(3, 1);
    await fixture.take('a.1');
    for (const lost of [0, 1]) fixture.node(lost).memory.restart();
    expect(await fixture.extend('a.1')).to.deep.equal([false]);
    await fixture.clock.advance(50);
    expect((await fixture.holders()).slice(0, 2)).to.deep.equal([[], []]);
  });
});
