import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
import type { TestServer } from '../../test/support/redis-server.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { type ContenderPool, startContenders } from './contender-pool.js';
import { expectFencing } from './hold-intervals.js';
import { leftKeys, ticketsKey } from './holder-count.js';
import { type OpenClient, openClient } from '../../test/support/open-client.js';
import { serverTime } from './server-records.js';
import { TicketProcess } from './ticket-process.js';
import { eventually } from '../../test/support/eventually.js';

/** The tokens of live tickets, read at one moment. */
const LIVE = `
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000000.0 + time[2])
local found = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf')) do
  found[#found + 1] = string.match(redis.call('HGET', KEYS[2], id) or '', '^%d+ (%d+)')
end
return found`;

async function liveTokens(server: TestServer, name: string): Promise<number[]> {
  const keys = [ticketsKey(name), `redsem:{${name}}:meta`];
  return ((await server.command('EVAL', LIVE, '2', ...keys)) as string[]).map(Number);
}

describeWithServer('a limit that is changed while processes contend', (server) => {
  let pool: ContenderPool | undefined;
  let client: OpenClient | undefined;

  before(async () => {
    const { url } = server();
    pool = await startContenders([
      { kind: 'redis', url },
      { kind: 'ioredis', url },
      { kind: 'ioredis', url },
    ]);
    client = await openClient('redis', url);
  });

  after(async () => {
    pool?.stop();
    await client?.close();
  });

  it('is reached and never exceeded, growing and shrinking', async () => {
    const name = 'moving limit';
    if (client === undefined) throw new Error('no client');
    const operator = new Semaphore(client.target, name, { limit: 3 });
    // Each process was started with another limit: the stored one alone counts.
    await operator.setLimit(3);
    const job = { name, tasks: 20, rounds: 50, hold: 12, timeout: 60_000 };
    const running = pool?.run((worker) => ({ ...job, limit: 2 + worker }));
    let over = false;
    void running?.then(
      () => (over = true),
      () => (over = true),
    );
    for (const limit of [3, 12, 1, 6, 2, 9, 4]) {
      await operator.setLimit(limit);
      const since = await serverTime(server());
      const levels = new Set<number>();
      await eventually(async () => {
        const tokens = await liveTokens(server(), name);
        // Nobody loses a permit when it shrinks; but what is granted from then on is granted within it.
        if (tokens.every((token) => token < since)) return false;
        expect(tokens.length, `holders with limit ${limit}`).to.be.at.most(limit);
        levels.add(tokens.length);
        expect(over, 'the contenders had ended').to.equal(false);
        return levels.has(limit);
      }, `${limit} hold`);
    }
    await operator.setLimit(20);
    const intervals = (await running)?.flat() ?? [];
    expect(intervals).to.have.lengthOf(3 * 20 * 50);
    expectFencing(intervals);
    await operator.close();
    expect((await leftKeys(server(), name)).filter((key) => key !== 'meta')).to.deep.equal([]);
  });
});

describeWithServer('a limit that is changed by another process', (server) => {
  const processes: TicketProcess[] = [];

  afterEach(() => {
    for (const { worker } of processes.splice(0)) worker.kill();
  });

  it('wakes those who wait elsewhere, and revokes nobody when it shrinks', async () => {
    const { url } = server();
    const name = 'woken';
    const options = { limit: 1 };
    const [one, two] = (await Promise.all(
      (['redis', 'ioredis'] as const).map((kind) =>
        TicketProcess.start({ kind, url, name, options }),
      ),
    )) as [TicketProcess, TicketProcess];
    processes.push(one, two);
    const first = await one.ask('acquire', 5000);
    await two.ask('wait', 1);
    await eventually(async () => {
      return Number(await server().command('ZCARD', `redsem:{${name}}:queue`)) === 1;
    }, 'it waits');
    await one.ask('setLimit', 2);
    const second = await two.nextGrant();
    expect(second.slots).to.deep.equal([1]);
    await two.ask('setLimit', 1);
    expect(await one.ask('held', first.id)).to.equal(true);
    expect(await two.ask('held', second.id)).to.equal(true);
    expect(await one.ask('release', first.id)).to.equal(true);
    expect(await one.ask('acquire', 0).catch((error: unknown) => String(error))).to.match(
      /no permit/,
    );
    expect(await two.ask('release', second.id)).to.equal(true);
    expect(await one.ask('acquire', 5000)).to.deep.include({ slots: [0] });
    expect([...one.worker.messages, ...two.worker.messages].map(({ type }) => type)).to.not.include(
      'lost',
    );
  });
});
