import { expect } from 'chai';

import { QuorumError, Semaphore } from '../../src/index.js';
import { QuorumBackend } from '../../src/backends/quorum/quorum-backend.js';
import { errorOf } from '../support/rejection.js';
import { KEY, onAll, QuorumFixture, stray } from './quorum-fixture.js';
import { AT_ONCE, dead, HUNG, TroubledNode } from './troubled-node.js';
import { only } from '../support/only.js';

describe('slots won by majority', () => {
  it('are the lowest that are free, on all nodes: all that were asked for, or none', async () => {
    const fixture = new QuorumFixture(3, 4);
    const first = await fixture.take('a.1.3');
    expect(first).to.deep.include({ slots: [0, 1, 2] });
    expect(await fixture.take('a.1.3'), 'the same id again').to.deep.equal(first);
    expect(await fixture.tryFor('b.1.2')).to.deep.equal({ kind: 'busy' });
    expect(await fixture.tryFor('b.1.5')).to.deep.equal({ kind: 'over', limit: 4 });
    expect(await fixture.holders()).to.deep.equal(onAll(['a.1.3']));
    expect(await fixture.take('b.2')).to.deep.include({ slots: [3] });
    expect(await fixture.tryFor('c.1')).to.deep.equal({ kind: 'busy' });
    const queued = await fixture.tryFor('c.2', true);
    expect(queued).to.deep.equal({ kind: 'queued', arrival: undefined });
    expect(await fixture.release('a.1.3')).to.equal(true);
    expect(await fixture.take('b.3.2')).to.deep.include({ slots: [0, 1] });
    expect(await fixture.holders()).to.deep.equal(onAll(['b.2', 'b.3.2']));
  });

  it('are inspected as a majority has them, and as certain only while it does', async () => {
    const fixture = new QuorumFixture(3, 3);
    const { fencingToken } = await fixture.take('a.1.2');
    await fixture.node(1).memory.hold(stray());
    await fixture.clock.advance(100);
    fixture.only('a', () => HUNG);
    await errorOf(fixture.extend('a.1.2'), QuorumError);
    fixture.only('abc', dead);
    const [holder] = (await fixture.inspect()).holders;
    const { heldFor = 0 } = holder ?? {};
    expect(heldFor).to.be.at.least(100);
    // Only the first node has a later expiry.
    const state = { id: 'a.1.2', slots: [0, 1], fencingToken, expiresIn: 1000 - heldFor, heldFor };
    const holders = [{ ...state, label: 'label of a.1.2' }];
    const whole = { limit: 3, limitFrom: 'options', held: 2, waiting: 0, waiters: [], holders };
    expect(await fixture.inspect()).to.deep.equal(whole);
  });

  it('are inspected at once beside a node that hangs, unless its vote is needed', async () => {
    const fixture = new QuorumFixture(3, 3);
    await fixture.take('a.1');
    fixture.only('ab', () => HUNG);
    const before = fixture.clock.monotonic();
    expect(await fixture.inspect()).to.include({ held: 1 });
    expect(fixture.clock.monotonic() - before).to.be.below(10);
    fixture.node(1).memory.restart();
    fixture.only('ab', () => ({ request: 0, reply: 100 }));
    expect(await fixture.inspect()).to.include({ held: 1 });
  });

  it('are reported to be in danger by any node, also beside nodes that hang or show nothing', async () => {
    const fixture = new QuorumFixture(3, 3);
    const looks = [() => new Promise<undefined>(() => undefined), async () => undefined];
    const found = (last: () => Promise<string | undefined>) => {
      [...looks, last].forEach((findHazard, i) => Object.assign(fixture.node(i), { findHazard }));
      return fixture.backend('a').findHazard(KEY);
    };
    expect(await found(async () => 'it may evict')).to.equal('node 2: it may evict');
    looks[0] = () => Promise.reject(new Error('Connection is closed.'));
    expect(await found(async () => undefined)).to.equal(undefined);
  });

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

  for (const nodes of [2, 3, 4, 5]) {
    it(`each way in which ${nodes} nodes may be up, dead, hung, full or refuse gets its verdict`, async () => {
      for (const way of waysOf(nodes).flatMap((one) => [one, one.toReversed()])) {
        const count = (...of: string[]): number => way.filter((one) => of.includes(one)).length;
        // A node that is dead may decide before a node that refuses is heard.
        if (count('dead') > 0 && count('denied') > 0) continue;
        const majority = Math.floor(nodes / 2) + 1;
        const [won, answered] = [count('up') >= majority, count('up', 'full') >= majority];
        const failed = nodes - count('denied') >= majority ? 'no quorum' : 'denied';
        const expected = won ? 'granted' : answered ? 'busy' : failed;
        expect(await verdictOn(way), way.join(' ')).to.equal(expected);
      }
    });
  }
});

describe('fencing tokens of a quorum', () => {
  it('are given together with the slot: an older token would be lower than that of a later holder', async () => {
    const fixture = new QuorumFixture(3, 2);
    fixture.node(1).memory.skew = 5;
    const backend = (...delays: (readonly (number | undefined)[])[]): QuorumBackend => {
      const doors = fixture.nodes.map(({ memory }, i) => {
        let calls = 0;
        const fate = () => ({ request: delays[i]?.[calls++] ?? delays[i]?.at(-1), reply: 0 });
        return new TroubledNode(fixture.clock, fate, memory);
      });
      return new QuorumBackend(doors, fixture.clock);
    };
    // The first agrees with nodes 0 and 1 on a token that 1 gave. Between its two rounds the second
    // takes another slot on 0 and this one on 2, with a lower token on both, and on 1 it takes this
    // slot when the first has gone.
    const first = backend([1, 2, 0], [1, 2, 0], [undefined]);
    const second = backend([2, 0], [6, 0], [2, 0]);
    const call = { key: KEY, limit: 2, ttl: 1000, label: '', notAfter: undefined };
    const take = async (taker: QuorumBackend, client: string) => {
      const requests = [{ id: `${client}.1`, permits: 1, wait: false, arrival: undefined }];
      return (await only(taker.acquire([{ ...call, client, requests }]))).verdicts[0];
    };
    const [one, two] = [take(first, 'one'), take(second, 'two')];
    const earlier = await fixture.during(one);
    await first.release([{ key: KEY, limit: 2, client: 'one', ids: ['one.1'] }]);
    const later = await fixture.during(two);
    if (earlier?.kind !== 'granted' || later?.kind !== 'granted') throw new Error('not granted');
    expect([earlier.slots, later.slots]).to.deep.equal([[0], [0]]);
    expect(later.fencingToken).to.be.above(earlier.fencingToken);
  });

  it('are ahead of the clocks by at most the time of a call, however late a reply was', async () => {
    const fixture = new QuorumFixture(3, 1);
    for (const node of fixture.nodes) node.fate = () => ({ request: 1, reply: 5000 });
    await errorOf(fixture.tryFor('a.1'), QuorumError);
    await fixture.clock.advance(6000);
    fixture.only('abc', dead);
    const { fencingToken } = await fixture.take('a.2');
    expect(fencingToken / 1000 - fixture.clock.wall()).to.be.within(0, 1100);
  });

  it('are given by nodes whose clocks ran ahead while a process was idle', async () => {
    const fixture = new QuorumFixture(3, 1);
    await fixture.take('a.1');
    for (const { memory } of fixture.nodes) memory.skew = 200;
    expect(await fixture.extend('a.1')).to.deep.equal([true]);
    await fixture.release('a.1');
    for (const { memory } of fixture.nodes) memory.skew = 5000;
    await fixture.take('a.2');
  });

  it('are not ahead of the clocks when the wall clock of a process is set forward', async () => {
    const fixture = new QuorumFixture(3, 1);
    await fixture.take('a.1');
    await fixture.release('a.1');
    fixture.clock.stepWall(20_000);
    for (const { memory } of fixture.nodes) memory.skew = -20_000;
    const { fencingToken } = await fixture.take('a.2');
    expect(fencingToken / 1000 + 20_000 - fixture.clock.wall()).to.be.within(0, 100);
  });
});

const FATES = {
  up: () => AT_ONCE,
  dead,
  hung: () => HUNG,
  full: () => AT_ONCE,
  denied: () => {
    throw new Error('NOPERM');
  },
};
type Condition = keyof typeof FATES;
const CONDITIONS = Object.keys(FATES) as Condition[];

/** Every combination of states of that many nodes. */
function waysOf(nodes: number, conditions = CONDITIONS): Condition[][] {
  if (nodes === 0) return [[]];
  return conditions.flatMap((first, i) =>
    waysOf(nodes - 1, conditions.slice(i)).map((rest) => [first, ...rest]),
  );
}

async function verdictOn(way: readonly Condition[]): Promise<string> {
  const fixture = new QuorumFixture(way.length, 1);
  for (const [i, condition] of way.entries()) {
    fixture.node(i).fate = FATES[condition];
    if (condition === 'full') await fixture.node(i).memory.hold(stray());
  }
  return fixture.tryFor('a.1').then(
    ({ kind }) => kind,
    (error: unknown) => (fixture.backend('a').isRetryable(error) ? 'no quorum' : 'denied'),
  );
}
