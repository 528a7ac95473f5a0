import { expect } from 'chai';

import type { RequestOrder } from '../../src/backends/backend.js';
import { describeWithServer } from '../support/require-server.js';
import type { PortFixture } from './port-fixture.js';
import {
  closeFixtures,
  describeOnBoth,
  ids,
  kinds,
  RedisFixture,
  request,
} from './port-fixture.js';

const HOUR = 3_600_000;

function order(group: string, weight = 1, priority = 0): RequestOrder {
  return { group, weight, priority };
}

function ofPriority(level: number): RequestOrder {
  return order('', 1, level);
}

/** Requests come in this order, and wait; an id is `client.number` or `client.number.permits`. */
async function queueUp(
  one: PortFixture,
  list: readonly string[],
  given: (id: string, i: number) => RequestOrder | undefined,
  verdict = 'queued',
): Promise<void> {
  const requests = list.map((id, i) => request(id, 'wait', given(id, i)));
  for (let from = 0; from < requests.length; from += 500) {
    const reply = await one.acquire(requests.slice(from, from + 500), { client: 'c', ttl: HOUR });
    expect(new Set(kinds(reply))).to.deep.equal(new Set([verdict]));
  }
}

/** Releases tickets, oldest first, until `count` requests were granted: their ids, in order. */
async function grants(one: PortFixture, held: readonly string[], count = Infinity) {
  const granted: string[] = [];
  const all = [...held];
  for (let id = all.shift(); id !== undefined && granted.length < count; id = all.shift()) {
    const reply = await one.release(id, { client: 'c' });
    for (const grant of reply.grants) {
      granted.push(grant.id);
      all.push(grant.id);
    }
  }
  return granted;
}

/** The first letter of each request's number: `c.a1` is one of group a. */
function groupsOf(list: readonly string[]): string {
  return list.map((id) => id.slice(2, 3)).join('');
}

function byLetter(weights: Readonly<Record<string, number>> = {}) {
  return (id: string) => order(id.slice(2, 3), weights[id.slice(2, 3)] ?? 1);
}

function numbered(letter: string, count: number, permits = 1): string[] {
  const suffix = permits === 1 ? '' : `.${permits}`;
  return Array.from({ length: count }, (_, i) => `c.${letter}${i + 1}${suffix}`);
}

describeOnBoth('a request of a group for more than a limit that has shrunk', (make) => {
  it('gets its turn in its order once the limit grows, where arrival alone decided meanwhile', async () => {
    const one = make({ limit: 3 });
    await one.acquire(ids('x', 3), { ttl: HOUR });
    await queueUp(one, [...numbered('n', 3), 'c.g1.3', 'c.g2.3'], (id) =>
      id.startsWith('c.g') ? order('g', 1000) : undefined,
    );
    await one.setLimit(2);
    // It is the first by its tag, and no permit is left idle for it.
    expect(await grants(one, ['x.1', 'x.2'], 1)).to.deep.equal(['c.n1']);
    expect(await one.queue()).to.deep.equal(['c.n2', 'c.n3', 'c.g1.3', 'c.g2.3']);
    if (one instanceof RedisFixture) {
      expect(Object.keys(await one.state()))
        .to.include('parked')
        .and.not.to.include('flows:0');
    }
    await one.setLimit(4);
    expect(await one.queue()).to.deep.equal(['c.g1.3', 'c.g2.3', 'c.n2', 'c.n3']);
    expect(await one.holders()).to.deep.equal(['x.3', 'c.n1']);
    // Those of no group do not pass it, though they fit.
    expect(await one.try('c.t1')).to.equal('busy');
    expect(await grants(one, ['x.3', 'c.n1'])).to.deep.equal(['c.g1.3', 'c.g2.3', 'c.n2', 'c.n3']);
  });
});

describeOnBoth('a bounded queue', (make) => {
  for (const given of [undefined, order('a', 2)]) {
    it(`does not count requests of the dead, ${given ? 'in groups' : 'in the order of arrival'}`, async () => {
      const one = make({ limit: 1 });
      await one.take('c.x1', { ttl: HOUR });
      await one.acquire(
        ids('dead', 3).map((id) => request(id, 'wait', given)),
        { maxWaiting: 3 },
      );
      const [first, second] = [request('c.1', 'wait', given), request('c.2', 'wait')];
      expect(kinds(await one.acquire([first], { maxWaiting: 3 }))).to.deep.equal(['full']);
      one.pass(5000);
      expect(kinds(await one.acquire([first, second], { maxWaiting: 1 }))).to.deep.equal([
        'queued',
        'full',
      ]);
      expect(await one.queue()).to.deep.equal(['c.1']);
    });

    it(`does not count them where others saw that they are dead, ${given ? 'in groups' : 'in the order of arrival'}`, async () => {
      const one = make({ limit: 1 });
      await one.take('c.x1', { ttl: HOUR });
      await one.acquire(ids('dead', 2).map((id) => request(id, 'wait', given)));
      one.pass(5000);
      await one.acquire('a.1');
      await one.acquire('b.1');
      expect(kinds(await one.acquire('c.1', { maxWaiting: 3 }))).to.deep.equal(['queued']);
      expect(kinds(await one.acquire('c.2', { maxWaiting: 3 }))).to.deep.equal(['full']);
    });

    // The fresh seed 103 of the lock-step, path 206.
    it(`does not count requests that their client left long ago, ${given ? 'in groups' : 'in the order of arrival'}`, async () => {
      const one = make({ limit: 1 });
      await one.take('c.x1', { ttl: HOUR });
      await one.acquire(ids('b', 2).map((id) => request(id, 'wait', given)));
      one.pass(5000);
      await one.acquire('a.1');
      const three = ids('b', 3, 5).map((id) => request(id, 'wait', given));
      expect(kinds(await one.acquire(three, { client: 'b', maxWaiting: 3 }))).to.deep.equal([
        'queued',
        'queued',
        'full',
      ]);
      expect(await one.queue()).to.have.length(3);
    });
  }
});

describeWithServer('the order, in Redis', (server) => {
  after(closeFixtures);

  it('keeps nothing of five hundred groups that asked once, while others wait', async () => {
    const one = new RedisFixture(server(), { limit: 25 });
    let held = ids('c', 25);
    await one.acquire(held, { ttl: HOUR });
    await queueUp(one, numbered('first', 25), (id) => order(`user ${id}`));
    for (let round = 0; round < 20; round += 1) {
      await queueUp(one, numbered(`u${round}n`, 25), (id) => order(`user ${id}`));
      held = (await one.release(held, { client: 'c' })).grants.map(({ id }) => id);
      expect(held).to.have.length(25);
    }
    expect(await entriesOf(one)).to.be.below(300);
  });

  it('is that of arrival again, in the usual form, once no request with an option waits', async () => {
    const one = new RedisFixture(server(), { limit: 1 });
    await one.take('c.x1', { ttl: HOUR });
    await queueUp(one, numbered('n', 3), () => undefined);
    const before = await one.state();
    await queueUp(one, ['c.z1'], () => ofPriority(3));
    expect(Object.keys(await one.state())).to.include.members(['flows:0', 'flows:3', 'flow:3:']);
    await one.release('c.z1', { client: 'c' });
    const { info, clients, ...rest } = await one.state();
    const { info: infoBefore, clients: clientsBefore, ...restBefore } = before;
    expect([rest, typeof clients]).to.deep.equal([restBefore, typeof clientsBefore]);
    const [state, stateBefore] = [info, infoBefore].map(
      (all) => (all as Record<string, string>)['state'],
    );
    expect(state?.slice(16)).to.equal(stateBefore?.slice(16)).and.to.equal(' 1 queue');
  });

  it('keeps turns among the largest requests that there are', async () => {
    const most = 65_536;
    const one = new RedisFixture(server(), { limit: most });
    await one.take(`c.x1.${most}`, { ttl: HOUR });
    const list = [...numbered('a', 6, most), ...numbered('b', 3, most), ...numbered('d', 1, most)];
    await queueUp(one, list, (id) =>
      id.startsWith('c.d') ? ofPriority(1) : byLetter({ a: 2 })(id),
    );
    const granted = groupsOf(await grants(one, [`c.x1.${most}`]));
    expect(granted).to.equal(`d${'aab'.repeat(3)}`);
    await one.expectNothingLeft();
  });

  for (const given of [undefined, order('g')]) {
    it(`costs no request more if hundreds ask for more than the limit, ${given ? 'in groups' : 'in the order of arrival'}`, async () => {
      const one = new RedisFixture(server());
      const perPair = async (many: number): Promise<number> => {
        one.moveTo(`parked-${many}-${given?.group ?? ''}`, 9);
        await one.take('c.x1.9', { ttl: HOUR });
        await queueUp(one, numbered('p', many, 5), () => given);
        await one.setLimit(3);
        await one.release('c.x1.9', { client: 'c' });
        const commands = await one.commandsIn(async () => {
          for (const id of ids('d', 100)) {
            await one.take(id);
            await one.release(id);
          }
        });
        // And they get their turn, in their order, when the limit has grown.
        await one.setLimit(9);
        expect(await one.holders()).to.deep.equal(['c.p1.5']);
        return commands / 100;
      };
      const few = await perPair(10);
      expect(await perPair(300)).to.be.at.most(few + 1);
    });
  }

  it('costs as many commands a grant with ten thousand groups as with ten', async () => {
    const one = new RedisFixture(server(), { limit: 1 });
    const perGrant = async (groups: number): Promise<number> => {
      one.moveTo(`groups-${groups}`, 1);
      await one.take('c.x1', { ttl: HOUR });
      const list = Array.from({ length: groups + 500 }, (_, i) => `c.${i}`);
      await queueUp(one, list, (_, i) => order(`group ${i % groups}`));
      const [first = ''] = await grants(one, ['c.x1'], 100);
      expect(first).to.equal('c.0');
      const last = (await one.holders())[0] ?? '';
      return (await one.commandsIn(() => grants(one, [last], 100))) / 100;
    };
    const few = await perGrant(10);
    expect(few).to.be.at.most(35);
    expect(await perGrant(10_000)).to.be.at.most(few + 1);
    // And all are forgotten, which are more than Lua gives to one command.
    await one.lose('requests');
    expect(kinds(await one.acquire('d.1'))).to.deep.equal(['queued']);
    expect(await one.queue()).to.deep.equal(['d.1']);
  });

  it('costs as many commands a grant with a thousand groups at their limit as with ten', async () => {
    const one = new RedisFixture(server());
    const ofGroup = (_: string, i: number) => order(`group ${i}`);
    const perGrant = async (groups: number): Promise<number> => {
      one.moveTo(`capped-${groups}`, 2 * groups);
      await one.setGroupLimit(1);
      const held = numbered('h', groups);
      await queueUp(one, held, ofGroup, 'granted');
      const waiting = numbered('w', groups);
      await queueUp(one, waiting, ofGroup);
      const commands = await one.commandsIn(async () => {
        expect(await grants(one, held.slice(0, 9), 9)).to.deep.equal(waiting.slice(0, 9));
      });
      return commands / 9;
    };
    const few = await perGrant(10);
    expect(few).to.be.at.most(48);
    expect(await perGrant(1000)).to.be.at.most(few);
  });
});

/** Members and fields of all its keys. */
async function entriesOf(one: RedisFixture): Promise<number> {
  const parts = Object.values(await one.state());
  const sizes = parts.map((part) => {
    // A sorted set comes with its scores.
    return Array.isArray(part) ? part.length / 2 : Object.keys(part as object).length;
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}
