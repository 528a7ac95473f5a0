import { expect } from 'chai';

import type { Costs, RequestOrder } from '../../src/backends/backend.js';
import { describeWithServer } from '../support/require-server.js';
import type { CallOptions } from './port-fixture.js';
import { closeFixtures, ids, RedisFixture, request } from './port-fixture.js';

interface Pair {
  readonly held?: number;
  readonly options?: CallOptions;
  readonly order?: RequestOrder;
  readonly cost?: Costs;
  /** Commands of the script that grants, and of the script that takes the ticket back. */
  readonly commands: readonly [number, number];
}

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

  for (const [what, { held = 0, options: said, commands, ...asked }] of Object.entries(PAIRS)) {
    it(`grants ${what} and takes it back by few commands`, async () => {
      const one = new RedisFixture(server(), { limit: 10 });
      const asks = (id: string) => request(id, 'wait', asked.order, false, asked.cost);
      // The first grant writes the rules that the caller names.
      await one.acquire([...ids('h', held), asks('a.1')], said);
      await one.release('a.1', said);
      const acquired = await commandsIn(one, () => one.acquire([asks('a.2')], said));
      const released = await commandsIn(one, () => one.release('a.2', said));
      expect([acquired, released]).to.deep.equal(commands);
    });
  }
});

async function commandsIn(one: RedisFixture, call: () => Promise<unknown>): Promise<number> {
  await one.redis.config('RESETSTAT');
  await call();
  const stats = await one.redis.info('commandstats');
  const calls = [...stats.matchAll(/cmdstat_(?!config|info|evalsha|ping)[\w|]+:calls=(\d+)/g)];
  return calls.reduce((sum, [, count]) => sum + Number(count), 0);
}
