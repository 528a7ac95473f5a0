import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  type Handle,
  type RedisConnection,
  Semaphore,
  type SubscriptionEvents,
} from '../../src/index.js';
import { eventually } from '../../test/support/eventually.js';
import { collectGarbage } from '../../test/support/garbage.js';
import { type OpenClient, openClient } from '../../test/support/open-client.js';
import { RandomNumbers } from '../../test/support/random-numbers.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { serverTime } from '../processes/server-records.js';

const SEED = Number(process.env['REDSEM_SEED'] ?? Date.now() % 2 ** 31);
const MESSAGES = 10_000;
const LIMIT = 100_000;
/** Milliseconds of the processor's time for one message, and bytes for all. */
const MOST_TIME = 20;
const MOST_MEMORY = 5 * 2 ** 20;

describeWithServer('messages that anybody may send', (server) => {
  let client: OpenClient;
  let send: (message: string) => void;
  let semaphore: Semaphore;
  let holder: Handle;
  let rest: Handle;
  let waiting: Promise<Handle>;
  let ids: string[];

  /** One holds, one waits for a permit, and another for all of them. */
  beforeEach(async () => {
    client = await openClient('redis', server().url);
    const subscribe = (_channel: string, events: SubscriptionEvents) => {
      send = (message) => events.onMessage(message);
      setImmediate(() => events.onHealth(true));
      return { close: () => Promise.resolve() };
    };
    const runBySha = () => Promise.reject(new Error('NOSCRIPT'));
    const runByText: RedisConnection['runByText'] = (...args) => client.run(...args);
    semaphore = new Semaphore({ runBySha, runByText, subscribe }, 'jobs', { limit: LIMIT });
    rest = await semaphore.acquire({ permits: LIMIT - 1 });
    holder = await semaphore.acquire();
    waiting = semaphore.acquire();
    waiting.catch(() => undefined);
    semaphore.acquire({ permits: LIMIT }).catch(() => undefined);
    await eventually(async () => (await semaphore.inspect()).waiting === 2, 'both wait');
    ids = [holder.id, ...(await semaphore.inspect()).waiters.map(({ id }) => id)];
  });

  afterEach(async () => {
    expect(rest.held).to.equal(true);
    await semaphore.close();
    await client.close();
  });

  it('make a permit that its first extension ends, at worst', async () => {
    send(`${ids[1]} 0 9 ${Math.round((await serverTime(server())) + 5_000_000)}|jobs`);
    const forged = await waiting;
    expect(forged.fencingToken).to.equal(9);
    await eventually(() => !forged.held, 'it is lost');
    expect(holder.held).to.equal(true);
  });

  it(`cost next to nothing, whatever they are (REDSEM_SEED=${SEED})`, async () => {
    const made = crafted(ids, new RandomNumbers(SEED));
    const sendMany = async (count: number): Promise<number> => {
      let longest = 0;
      for (let i = 0; i < count; i++) {
        const message = made();
        let took = Infinity;
        // A garbage collection in between is not the message's.
        for (let tries = 0; tries < 4 && took >= MOST_TIME; tries++) {
          took = Math.min(
            took,
            timeOf(() => send(message)),
          );
        }
        longest = Math.max(longest, took);
        if (i % 100 === 0) await sleep(1);
      }
      return longest;
    };
    await sendMany(500);
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    expect(await sendMany(MESSAGES)).to.be.below(MOST_TIME);
    await eventually(() => {
      collectGarbage();
      expect(process.memoryUsage().heapUsed - before).to.be.below(MOST_MEMORY);
    });
    expect(holder.held).to.equal(true);
    expect((await semaphore.inspect()).waiters.map(({ id }) => id)).to.deep.equal(ids.slice(1));
  });
});

/** Milliseconds of the processor's time, which other load does not prolong. */
function timeOf(work: () => void): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

/** Anything that a sender may think of, but for a grant that is in order: see the test of that. */
function crafted(known: readonly string[], random: RandomNumbers): () => string {
  const client = known[0]?.split('.')[0] ?? '';
  const own = ['1', '2.16777216', 'zzzzz', '', '1~a.1', '9'.repeat(5000)];
  const anyId = [...known, ...own.map((end) => `${client}.${end}`), 'x', '', ' ', 'somebody.1'];
  const slots = ['0-16777214', '0-99998', '5-3', '0,0', `0${',1'.repeat(30_000)}`, '-', ''];
  const grants = ['1 1', '99999999999999 1', '1', '1.5 1', '1 1 1', 'x y', `1 ${'9'.repeat(400)}`];
  const names = ['jobs', 'other', '|', '%7B', 'x'.repeat(600), ''];
  const noise = (): string => {
    const length = random.between(0, random.chance(0.002) ? 200_000 : 200);
    return Array.from({ length }, () => random.pick([';', '|', ' ', '.', '0', 'a', '\0'])).join('');
  };
  const line = (): string => {
    const grant = `${random.pick(slots)} ${random.pick(grants)}`;
    return `${random.pick(anyId)} ${random.pick([grant, grant, 'revoked', 'adopted', 'x'])}`;
  };
  return () => {
    if (random.chance(0.3)) return noise();
    const first = line();
    const repeated = first.length < 50 && random.chance(0.1) ? 2000 : random.between(1, 5);
    const lines = [...Array.from({ length: repeated }, () => first), line()];
    return `${lines.join(';')}|${random.pick(names)}`;
  };
}
