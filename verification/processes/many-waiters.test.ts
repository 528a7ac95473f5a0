import { expect } from 'chai';

import { type Handle, Semaphore } from '../../src/index.js';
import { eventually } from '../../test/support/eventually.js';
import { type OpenClient, openClient } from '../../test/support/open-client.js';
import type { TestServer } from '../../test/support/redis-server.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { cutSubscribers, muteUrl, untilSubscribed } from '../../test/support/subscribers.js';
import { expectFencing, type Interval, peakOf } from './hold-intervals.js';
import { stopProcesses, TestProcess } from './test-process.js';
import { whileRepeating } from './while-repeating.js';

const PER_PROCESS = 250;
const LIMIT = 5;
/** However busy the machine is, in milliseconds. */
const timeout = 80_000;
/**
 * Milliseconds that a waiter is taken for alive, and that a permit stays with a waiter that died
 * before it took it.
 */
const WAITER_LEASE = 5000;
const CLAIM_TIME = 5000;
/** For the server and other processes, which other load may hold up. */
const SLACK = 1000;

type Serve = () => Promise<Interval[]>;
type Trouble = (server: TestServer, serve: Serve) => Promise<Interval[]>;

/** What happens to waiters that listen for their grants, while they are served. */
const troubles: Record<string, Trouble> = {
  listen: async (server, serve) => {
    await server.resetStatistics();
    const intervals = await serve();
    const { evalsha = Infinity } = await server.calls();
    // One for each release: waiters that expect a notification hardly ever ask.
    expect(evalsha, 'calls').to.be.at.most(1.3 * intervals.length + 50);
    return intervals;
  },
  'may not listen': async (server, serve) => {
    const intervals = await serve();
    const { subscribe, evalsha } = await server.calls();
    expect(subscribe).to.equal(undefined);
    // One poll for all in each process.
    expect(evalsha).to.be.below(8 * PER_PROCESS * 4);
    return intervals;
  },
  'are cut off again and again': async (server, serve) => {
    const { value, results } = await whileRepeating(15, () => cutSubscribers(server), serve);
    expect(results.reduce((sum, count) => sum + count, 0)).to.be.at.least(12);
    return value;
  },
};

describeWithServer('a thousand waiters in four processes', (server) => {
  let client: OpenClient;
  let processes: TestProcess[];
  let sem: Semaphore;
  let stored: StoredSemaphore;
  /** Has all permits until the others should be served. */
  let gate: Handle;
  let results: Promise<Interval[]>[];
  /** In the order that Redis recorded. */
  let arrivals: { readonly id: string; readonly pid: number }[];

  beforeEach(async () => {
    client = await openClient('redis', server().url);
  });

  afterEach(async () => {
    stopProcesses();
    await client.close();
  });

  for (const [title, trouble] of Object.entries(troubles)) {
    it(`that ${title} are all served in the order in which they arrived`, async () => {
      await gather(title, title === 'may not listen');
      await expectServed(await trouble(server(), () => serveAll(-1)), -1);
    }).timeout(120_000);

    it(`that ${title} lose no permit to a process that is killed before it hears of one`, async () => {
      await gather(`${title}, killed`, title === 'may not listen');
      const dead = arrivals[0]?.pid ?? NaN;
      const nth = processes.findIndex(({ worker }) => worker.pid === dead);
      processes[nth]?.worker.pause();
      // Calls that it has sent run before this one: behind the gate they would be claims.
      await sem.inspect();
      expect(await gate.release()).to.equal(true);
      await eventually(async () => (await permitsOf(dead)) > 0, 'it is granted a permit');
      await processes[nth]?.kill();
      void results.splice(nth, 1);
      const killed = await stored.now();
      const intervals = await trouble(server(), async () => {
        const { value, results: times } = await whileRepeating(
          10,
          async () => ((await permitsOf(dead)) > 0 ? await stored.now() : killed),
          () => serveAll(dead),
        );
        // Until their lease is over more of its waiters may be granted one; all others are passed
        // over.
        const kept = Math.max(...times) - killed;
        expect(kept).to.be.below(WAITER_LEASE + CLAIM_TIME + SLACK);
        return value;
      });
      await expectServed(intervals, dead);
    }).timeout(120_000);
  }

  /** The processes come by turns, so that nearly every permit goes from one to another. */
  async function gather(name: string, mute: boolean): Promise<void> {
    await server().resetStatistics();
    const url = mute ? await muteUrl(server()) : server().url;
    const kinds = ['redis', 'ioredis', 'redis', 'ioredis'] as const;
    processes = await Promise.all(kinds.map((kind) => TestProcess.start({ kind, url })));
    sem = new Semaphore(client.target, name, { limit: LIMIT });
    stored = new StoredSemaphore(server(), name);
    gate = await sem.acquire({ permits: LIMIT });
    const job = { name, limit: LIMIT, tasks: PER_PROCESS, rounds: 1, apart: 2, hold: 30, timeout };
    results = processes.map((process) => process.ask('run', job));
    for (const result of results) result.catch(() => undefined);
    const size = PER_PROCESS * processes.length;
    await eventually(async () => (await sem.inspect()).waiting === size, 'all wait');
    const { waiters } = await sem.inspect();
    arrivals = waiters.map(({ id, label }) => ({ id, pid: Number(label.split(':').pop()) }));
    if (!mute) await untilSubscribed(server(), processes.length);
  }

  async function permitsOf(pid: number): Promise<number> {
    const own = new Set(arrivals.filter((one) => one.pid === pid).map(({ id }) => id));
    return (await stored.tickets()).filter(({ id }) => own.has(id)).length;
  }

  /**
   * What those report that live, once they have served all their callers, and no dead one has a
   * permit.
   */
  async function serveAll(dead: number): Promise<Interval[]> {
    await gate.release();
    const served = (await Promise.all(results)).flat();
    await eventually(async () => (await permitsOf(dead)) === 0, 'none is left');
    return served;
  }

  /**
   * All that live once, in their order of arrival, never more than the limit, and nothing of them
   * is left.
   */
  async function expectServed(intervals: Interval[], dead: number): Promise<void> {
    const arrived = arrivals.filter(({ pid }) => pid !== dead).map(({ id }) => id);
    const served = intervals.toSorted((a, b) => a.token - b.token).map(({ id }) => id);
    expect(served).to.have.members(arrived);
    const place = new Map(arrived.map((id, nth) => [id, nth]));
    const places = served.map((id) => place.get(id) ?? -1);
    const late = places.filter((at, nth) => at < (places[nth - 1] ?? -1));
    // One that does not claim its grant in time, in a process that was held up, is served later.
    expect(late.length).to.be.at.most(0.01 * arrived.length);
    expect(peakOf(intervals)).to.be.at.most(LIMIT);
    expectFencing(intervals);
    // Drops tickets whose holders died.
    await (await sem.acquire(timeout)).release();
    await sem.close();
    expect(await stored.keys()).to.deep.equal(['meta']);
  }
});
