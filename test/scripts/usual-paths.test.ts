import { expect } from 'chai';

import type { Costs, RequestOrder } from '../../src/backends/backend.js';
import { describeWithServer } from '../support/require-server.js';
import type { CallOptions } from './port-fixture.js';
import { closeFixtures, DAY, ids, kinds, RedisFixture, request } from './port-fixture.js';

interface Pair {
  readonly held?: number;
  readonly options?: CallOptions;
  readonly order?: RequestOrder;
  readonly cost?: Costs;
  /** Commands of the script that grants, and of the script that takes the ticket back. */
  readonly commands: readonly [number, number];
}

const MINUTE = 60_000;
const rate = { permits: 1000, per: 60_000, burst: 1000 };
const order: RequestOrder = { priority: 0, weight: 1, group: 'acme' };
const options: CallOptions = {
  budgets: { tokens: { ...rate, permits: 90_000 }, money: rate },
  groupLimit: 8,
  spent: [{ tokens: 30 }],
};

/** The slow path needs 10 commands or more for a grant, and 14 or more for a release. */
const PAIRS: Record<string, Pair> = {
  'a permit of a mutex': { options: { limit: 1 }, commands: [4, 4] },
  'the newest of six permits': { held: 5, commands: [5, 5] },
  'a permit of a group': { order, commands: [4, 5] },
  'a permit under a rate': { options: { rate }, commands: [4, 6] },
  'a permit of a group with a cap': { order, options: { groupLimit: 8 }, commands: [7, 8] },
  'a permit that costs of two budgets': { order, cost: { tokens: 4 }, options, commands: [7, 9] },
};

describeWithServer('a usual path', (server) => {
  after(closeFixtures);

  // In the middle of 2.8 hours, at whose end the slow path renews the keys.
  const one = (): RedisFixture =>
    new RedisFixture(server(), { limit: 10, time: { now: 1_795_235_000_000 } });
  const ofGroup = (id: string, group: string) => request(id, 'try', { ...order, group });

  it('takes a cap that the caller names beside a known rate', async () => {
    const ruled = one();
    await ruled.acquire('a.1', { rate });
    await ruled.acquire('a.2', { rate, groupLimit: 3 });
    expect((await ruled.inspect()).groupLimit).to.equal(3);
  });

  it('counts the permits of groups again once their key was lost', async () => {
    const capped = one();
    const said = { groupLimit: 1 };
    await capped.acquire([ofGroup('a.1', 'a')], said);
    await capped.lose('groups');
    expect(kinds(await capped.acquire([ofGroup('b.1', 'b')], said))).to.deep.equal(['granted']);
    expect(kinds(await capped.acquire([ofGroup('a.2', 'a')], said))).to.deep.equal(['busy']);
  });

  it('counts a rate as named for as long as its period', async () => {
    const rated = one();
    const said = { rate: { ...rate, per: 10 * MINUTE } };
    for (const pause of [0, 6 * MINUTE, 3.9 * MINUTE]) {
      rated.pass(pause);
      await rated.take(`a.${pause}`, said);
      await rated.release(`a.${pause}`);
    }
    rated.pass(MINUTE);
    expect((await rated.inspect()).rate?.from).to.equal('caller');
  });

  it('keeps the keys for as long as a meter needs days to run out', async () => {
    const slow = one();
    const said = { rate: { permits: 10, per: 50 * DAY, burst: 10 } };
    for (const id of ids('a', 3)) await slow.acquire(id, said);
    expect(await slow.redis.pttl(slow.keyOf('info'))).to.be.above(15 * DAY);
    const dear = one();
    const budgets = { tokens: { permits: 100, per: 10 * DAY, burst: 100 } };
    await dear.acquire([request('a.1', 'wait', order, false, { tokens: 1 })], { budgets });
    await dear.release('a.1', { spent: [{ tokens: 90 }] });
    expect(await dear.redis.pttl(dear.keyOf('info'))).to.be.above(9 * DAY);
  });

  for (const [what, { held = 0, options: said, commands, ...asked }] of Object.entries(PAIRS)) {
    it(`grants ${what} and takes it back by few commands`, async () => {
      const paired = one();
      const asks = (id: string) => request(id, 'wait', asked.order, false, asked.cost);
      // The first grant writes the rules that the caller names.
      await paired.acquire([...ids('h', held), asks('a.1')], said);
      await paired.release('a.1', said);
      const acquired = await paired.commandsIn(() => paired.acquire([asks('a.2')], said));
      const released = await paired.commandsIn(() => paired.release('a.2', said));
      expect([acquired, released]).to.deep.equal(commands);
    });
  }
});
