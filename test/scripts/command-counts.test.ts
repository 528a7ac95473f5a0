import { expect } from 'chai';

import type { Costs, RequestOrder } from '../../src/backends/backend.js';
import { describeWithServer } from '../support/require-server.js';
import type { CallOptions } from './port-fixture.js';
import { closeFixtures, ids, kinds, ofGroup, RedisFixture, request } from './port-fixture.js';

const HOUR = 3_600_000;

interface Pair {
  readonly held?: number;
  readonly options?: CallOptions;
  readonly order?: RequestOrder;
  readonly cost?: Costs;
  /** Commands of the script that grants, and of the script that takes the ticket back. */
  readonly commands: readonly [number, number];
}

const rate = { permits: 1000, per: 60_000, burst: 1000 };
const order = ofGroup('acme');
const options: CallOptions = {
  rate,
  budgets: { tokens: { ...rate, permits: 90_000 }, money: rate },
  groupLimit: 8,
  spent: [{ tokens: 30 }],
};

/** The slow path needs 10 commands or more for a grant, and 14 or more for a release. */
const PAIRS: Record<string, Pair> = {
  'a permit of a mutex': { options: { limit: 1 }, commands: [4, 4] },
  'the newest of six permits': { held: 5, commands: [5, 5] },
  'a permit of a group': { order, commands: [4, 5] },
  'a permit under a rate': { options: { rate }, commands: [4, 7] },
  'a permit of a group with a cap': { order, options: { groupLimit: 8 }, commands: [7, 9] },
  'a permit that costs of two budgets': { order, cost: { tokens: 4 }, options, commands: [7, 10] },
};

/** Requests come in this order, 500 in a call, each with the order that `given` gives it. */
async function ask(
  one: RedisFixture,
  list: readonly string[],
  given: (i: number) => RequestOrder | undefined,
  verdict = 'queued',
): Promise<void> {
  const requests = list.map((id, i) => request(id, 'wait', { order: given(i) }));
  for (let from = 0; from < requests.length; from += 500) {
    const reply = await one.acquire(requests.slice(from, from + 500), { ttl: HOUR });
    expect(new Set(kinds(reply))).to.deep.equal(new Set([verdict]));
  }
}

/** Releases tickets, oldest first, until `count` requests were granted: their ids, in order. */
async function grants(one: RedisFixture, held: readonly string[], count: number) {
  const granted: string[] = [];
  const all = [...held];
  for (let id = all.shift(); id !== undefined && granted.length < count; id = all.shift()) {
    for (const grant of (await one.release(id, { client: 'c' })).grants) {
      granted.push(grant.id);
      all.push(grant.id);
    }
  }
  return granted;
}

describeWithServer('the commands of a script', (server) => {
  after(closeFixtures);

  for (const [what, { held = 0, options: said, commands, ...asked }] of Object.entries(PAIRS)) {
    it(`are few where it grants ${what} and takes it back`, async () => {
      // In the middle of 2.8 hours, at whose end the slow path renews the keys.
      const time = { now: 1_795_235_000_000 };
      const paired = new RedisFixture(server(), { limit: 10, time });
      const asks = (id: string) => request(id, 'wait', asked);
      // The first grant writes the rules that the caller names.
      await paired.acquire([...ids('h', held), asks('a.1')], said);
      await paired.release('a.1', said);
      const acquired = await paired.commandsIn(() => paired.acquire([asks('a.2')], said));
      const released = await paired.commandsIn(() => paired.release('a.2', said));
      expect([acquired, released]).to.deep.equal(commands);
    });
  }

  it('are few where it renews a ticket, queues a request, and hands the permit over', async () => {
    const one = new RedisFixture(server(), { limit: 1, time: { now: 1_795_235_000_000 } });
    // The first call of a script loads it.
    await one.release('c.0');
    await one.take('a.1');
    await one.extend('a.1');
    const calls = [() => one.extend('a.1'), () => one.acquire('b.1'), () => one.release('a.1')];
    const commands: number[] = [];
    for (const call of calls) {
      one.pass(1);
      commands.push(await one.commandsIn(call));
    }
    expect(commands).to.deep.equal([5, 12, 13]);
  });

  it('are few where a stored group limit lets everything through, and a lower slot comes free', async () => {
    const one = new RedisFixture(server(), { limit: 10, time: { now: 1_795_235_000_000 } });
    await one.setGroupLimit(undefined);
    await one.acquire(ids('h', 4));
    await one.release('h.1');
    const released = async () => expect((await one.release('h.2')).released).to.deep.equal([true]);
    expect(await one.commandsIn(released)).to.be.below(10);
  });

  for (const given of [undefined, ofGroup('g')]) {
    it(`are as many if hundreds ask for more than the limit, ${given ? 'in groups' : 'by arrival'}`, async () => {
      const one = new RedisFixture(server());
      const perPair = async (many: number): Promise<number> => {
        one.moveTo(`parked-${many}-${given?.group ?? ''}`, 9);
        await one.take('c.0.9', { ttl: HOUR });
        const parked = ids('c', many).map((id) => `${id}.5`);
        await ask(one, parked, () => given);
        await one.setLimit(3);
        await one.release('c.0.9');
        const commands = await one.commandsIn(async () => {
          for (const id of ids('d', 100)) {
            await one.take(id);
            await one.release(id);
          }
        });
        // And they get their turn, in their order, when the limit has grown.
        await one.setLimit(9);
        expect(await one.holders()).to.deep.equal(parked.slice(0, 1));
        return commands / 100;
      };
      const few = await perPair(10);
      expect(await perPair(300)).to.be.at.most(few + 1);
    });
  }

  it('are as many for a grant with ten thousand groups as with ten', async () => {
    const one = new RedisFixture(server(), { limit: 1 });
    const perGrant = async (groups: number): Promise<number> => {
      one.moveTo(`groups-${groups}`, 1);
      await one.take('c.0', { ttl: HOUR });
      const list = ids('c', groups + 500);
      await ask(one, list, (i) => ofGroup(`group ${i % groups}`));
      expect(await grants(one, ['c.0'], 100)).to.include('c.1');
      const held = await one.holders();
      return (await one.commandsIn(() => grants(one, held, 100))) / 100;
    };
    const few = await perGrant(10);
    expect(few).to.be.at.most(35);
    expect(await perGrant(10_000)).to.be.at.most(few + 1);
    // And all are forgotten, which are more than Lua gives to one command.
    await one.lose('requests');
    expect(kinds(await one.acquire('d.1'))).to.deep.equal(['queued']);
    expect(await one.queue()).to.deep.equal(['d.1']);
  });

  it('are as many for a hand-over, and for a newcomer, whether or not requests ask for their position', async () => {
    const one = new RedisFixture(server(), { limit: 1 });
    // The first call of a script loads it.
    await one.release('c.0');
    const counts = async (asksProgress: boolean): Promise<number[]> => {
      one.moveTo(`asks-${asksProgress}`, 1);
      await one.take('c.0');
      for (const id of ids('d', 2)) await one.acquire([request(id, 'wait', { asksProgress })]);
      const newcomer = await one.commandsIn(() => one.acquire('e.1'));
      return [newcomer, await one.commandsIn(() => one.release('c.0'))];
    };
    expect(await counts(true)).to.deep.equal(await counts(false));
  });

  it('are as many for a change of the limit behind many changes as behind a single change', async () => {
    const one = new RedisFixture(server());
    await one.addPermits(1, 'c.0');
    const behindOne = await one.commandsIn(() => one.addPermits(1, 'c.1'));
    for (const id of ids('c', 5, 2)) await one.addPermits(1, id);
    expect(await one.commandsIn(() => one.addPermits(1, 'c.7'))).to.equal(behindOne);
    expect(await one.addPermits(1, 'c.1')).to.include({ limit: one.limit + 2 });
  });

  it('are as many for a grant with a thousand groups at their limit as with ten', async () => {
    const one = new RedisFixture(server());
    const perGrant = async (groups: number): Promise<number> => {
      one.moveTo(`capped-${groups}`, 2 * groups);
      await one.setGroupLimit(1);
      const [held, waiting] = [ids('c', groups), ids('c', groups, groups + 1)];
      await ask(one, held, (i) => ofGroup(`group ${i}`), 'granted');
      await ask(one, waiting, (i) => ofGroup(`group ${i}`));
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
