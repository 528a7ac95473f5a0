import { expect } from 'chai';

import type { RequestOrder } from '../../src/backends/backend.js';
import type { PortFixture } from './port-fixture.js';
import { describeOnBoth, ids, kinds, ofGroup, request } from './port-fixture.js';

/** Waits, of the group that is the second part's first letter: `c.a1` is of group a. */
function ask(one: PortFixture, list: readonly string[], change: Partial<RequestOrder> = {}) {
  const requests = list.map((id) =>
    request(id, 'wait', { order: { ...ofGroup(id.slice(2, 3)), ...change } }),
  );
  return one.acquire(requests);
}

/** Releases tickets, oldest first, until none is held or `count` requests were granted. */
async function grants(one: PortFixture, count = Infinity): Promise<string[]> {
  const granted: string[] = [];
  for (let all = await one.holders(); all.length > 0 && granted.length < count;) {
    const reply = await one.release(all[0] ?? '', { client: 'c' });
    granted.push(...reply.grants.map(({ id }) => id));
    all = await one.holders();
  }
  return granted;
}

describeOnBoth('a request of a group for more than a limit that has shrunk', (make) => {
  it('gets its turn in its order once the limit grows, where arrival alone decided meanwhile', async () => {
    const one = make({ limit: 3 });
    await one.acquire(ids('x', 3));
    await one.acquire(['c.n1', 'c.n2', 'c.n3']);
    await ask(one, ['c.g1.3', 'c.g2.3'], { weight: 1000 });
    await one.setLimit(2);
    // It is the first by its tag, and no permit is left idle for it.
    expect(await grants(one, 1)).to.deep.equal(['c.n1']);
    expect(await one.queue()).to.deep.equal(['c.n2', 'c.n3', 'c.g1.3', 'c.g2.3']);
    await one.setLimit(4);
    expect(await one.queue()).to.deep.equal(['c.g1.3', 'c.g2.3', 'c.n2', 'c.n3']);
    expect(await one.holders()).to.deep.equal(['x.3', 'c.n1']);
    // Requests of no group do not pass it, though they fit.
    expect(await one.try('c.t1')).to.equal('busy');
    expect(await grants(one)).to.deep.equal(['c.g1.3', 'c.g2.3', 'c.n2', 'c.n3']);
  });

  it('keeps turns among the largest requests that there are', async () => {
    const most = 65_536;
    const one = make({ limit: most });
    await one.take(`c.x1.${most}`);
    const numbered = (letter: string, count: number): string[] =>
      Array.from({ length: count }, (_, i) => `c.${letter}${i}.${most}`);
    await ask(one, numbered('a', 6), { weight: 2 });
    await ask(one, numbered('b', 3));
    await ask(one, numbered('d', 1), { priority: 1 });
    const order = (await grants(one)).map((id) => id.slice(2, 3));
    expect(order.join('')).to.equal(`d${'aab'.repeat(3)}`);
  });
});

describeOnBoth('a request behind a dead one whose group is at its cap', (make) => {
  it('is granted once it fits, though the dead one does not', async () => {
    const one = make({ limit: 5 });
    await one.setGroupLimit(2);
    for (const id of ['x.1', 'x.2', 'd.1.2', 'c.1', 'c.2']) await one.acquire(id);
    await one.release('x.1');
    one.pass(4000);
    await one.acquire('c.1');
    expect(await one.holders()).to.deep.equal(['x.2']);
    one.pass(2000);
    expect(kinds(await one.acquire('c.1'))).to.deep.equal(['granted']);
    expect(await one.queue()).to.deep.equal(['c.2']);
  });

  it('is granted by a call that counts the queue, though the cap has shrunk below the dead one', async () => {
    const one = make({ limit: 3 });
    await one.setGroupLimit(2);
    await one.take('x.1.2');
    for (const id of ['d.1.2', 'c.1']) await one.acquire(id);
    await one.setGroupLimit(1);
    await one.release('x.1.2');
    one.pass(4000);
    await one.acquire('c.1');
    one.pass(2000);
    const reply = await one.acquire(['c.1', 'c.2'], { maxWaiting: 2 });
    expect(kinds(reply)).to.deep.equal(['granted', 'queued']);
    expect(await one.holders()).to.deep.equal(['c.1']);
  });
});

describeOnBoth('the requests of a dead client', (make) => {
  it('leave by arrival, so that the requests behind them stand in the same order on each server', async () => {
    const one = make({ limit: 9 });
    await one.setGroupLimit(2);
    const groups = 'abcdefgh'.split('');
    const each = (start: string, end: string) => groups.map((group) => start + group + end);
    await ask(one, [...each('x.', '1'), 'x.n1']);
    // Redis gives the fields of a hash with long texts in any order.
    const label = 'x'.repeat(65);
    const wait = (list: readonly string[]) =>
      one.acquire(
        list.map((id) => request(id, 'wait', { order: ofGroup(id.slice(2, 3)) })),
        { label },
      );
    await wait(['c.z1', 'c.z2']);
    await wait(groups.flatMap((group) => [`d.${group}1`, `d.${group}2.2`]));
    await wait(each('c.', '1'));
    // Time moves to the tag of c.z1. No group has room for the second request of the dead client:
    // behind it each request starts at that time.
    await one.release('x.n1');
    expect(await one.holders()).to.include('c.z1');
    one.pass(4000);
    await wait(['c.z1', 'c.z2']);
    one.pass(2000);
    await wait(['c.z2']);
    expect(await one.queue()).to.deep.equal(['c.z2', ...each('c.', '1')]);
  });
});

describeOnBoth('a call of several requests', (make) => {
  it('says that a request is granted which waited until a later request of the call moved the queue on', async () => {
    const one = make({ limit: 10 });
    const costly = { cost: { tokens: 1 } };
    await one.setGroupLimit(1);
    await one.setBudget('tokens', { permits: 1, per: 60_000, burst: 1 });
    await one.acquire([request('x.1', 'try', { order: ofGroup('x'), ...costly })]);
    await one.acquire([request('b.1', 'wait', { order: ofGroup('g', 1, 5), ...costly })]);
    // It waits behind b.1, whose group is at its cap after c.2.
    const first = request('c.1', 'wait', { order: ofGroup('h') });
    const second = request('c.2', 'wait', { order: ofGroup('g', 1, 9) });
    expect(kinds(await one.acquire([first, second]))).to.deep.equal(['granted', 'granted']);
    expect(await one.queue()).to.deep.equal(['b.1']);
  });
});
