import { expect } from 'chai';

import { type Handle, Semaphore } from '../../src/index.js';
import { type OpenClient, openClient } from '../../test/support/open-client.js';
import { describeWithServer } from '../../test/support/require-server.js';

const MANY = 100_000;
const FREE = 500;
const ROUNDS = 100;

describeWithServer('10 and 100 000 tickets', (server) => {
  let client: OpenClient;
  let few: Semaphore;
  let many: Semaphore;

  before('take 10 and 100 000 tickets', async () => {
    client = await openClient('ioredis', server().url);
    const options = { ttl: 600_000, extendEvery: 0 };
    few = new Semaphore(client.target, 'few', { limit: 10 + FREE, ...options });
    many = new Semaphore(client.target, 'many', { limit: MANY + FREE, ...options });
    await take(few, 10);
    await take(many, MANY);
  });

  after(() => client.close());

  it('have distinct slots and tokens, and are shown in pages that let others in', async () => {
    await server().resetStatistics();
    const { holders, held } = await many.inspect();
    const { evalsha } = await server().calls();
    expect(evalsha, 'pages').to.be.at.least(MANY / 1000);
    expect([holders.length, held]).to.deep.equal([MANY, MANY]);
    expect(new Set(holders.map(({ slots }) => slots[0])).size).to.equal(MANY);
    expect(new Set(holders.map(({ fencingToken }) => fencingToken)).size).to.equal(MANY);
  });

  it('cost a call at most three times the server time of 10 tickets', async () => {
    const [small, large] = [await costs(few), await costs(many)];
    for (const [what, cost] of Object.entries(small)) {
      expect(large[what], `µs for ${what}, ${cost} with 10`).to.be.below(3 * cost);
    }
  });

  /** Server time of one call in microseconds: the best of some rounds. */
  async function costs(semaphore: Semaphore): Promise<Record<string, number>> {
    const best: Record<string, number> = {};
    const measure = async (what: string, call: (i: number) => unknown): Promise<void> => {
      await server().resetStatistics();
      for (let i = 0; i < ROUNDS; i++) await call(i);
      const usec = /usec=(\d+)/.exec(await server().stat('commandstats', 'cmdstat_evalsha'))?.[1];
      best[what] = Math.min(best[what] ?? Infinity, Number(usec) / ROUNDS);
    };
    for (let repetition = 0; repetition < 4; repetition++) {
      const taken: Handle[] = [];
      await measure('acquire', async () => taken.push(await semaphore.acquire(0)));
      await measure('extend', (i) => taken[i]?.extend());
      await measure('refused try', () => semaphore.tryAcquire({ permits: FREE + 1 }));
      await measure('release', (i) => taken[i]?.release());
    }
    return best;
  }
});

function take(semaphore: Semaphore, count: number): Promise<unknown> {
  return Promise.all(Array.from({ length: count }, () => semaphore.acquire(60_000)));
}
