import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';

import { eventually } from '../../test/support/eventually.js';
import { type FaultProxy, startProxy } from '../../test/support/fault-proxy.js';
import type { TestServer } from '../../test/support/redis-server.js';
import { describeWithFakeClock, describeWithServer } from '../../test/support/require-server.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { cutSubscribers } from '../../test/support/subscribers.js';
import { expectFencing, peakOf } from './hold-intervals.js';
import { type Job, stopProcesses, TestProcess } from './test-process.js';
import { whileRepeating } from './while-repeating.js';

const KINDS = ['redis', 'ioredis', 'redis', 'ioredis'] as const;

type Trouble = (proxy: FaultProxy, server: TestServer) => Promise<unknown>;

/** Each leaves all as it was. */
const troubles: Record<string, Trouble> = {
  'nothing happens': () => Promise.resolve(),
  'connections are cut': async (proxy) => proxy.cut(),
  'replies are lost and connections cut': async (proxy) => {
    proxy.swallowReplies(true);
    await sleep(20);
    proxy.cut();
    proxy.swallowReplies(false);
  },
  'the network hangs': async (proxy) => {
    proxy.hang(true);
    await sleep(100);
    proxy.hang(false);
  },
  'the server hangs': async (_proxy, server) => {
    server.pause();
    await sleep(100);
    server.resume();
  },
  'scripts are forgotten': (_proxy, server) => server.command('SCRIPT', 'FLUSH'),
  'subscribers are cut off': (_proxy, server) => cutSubscribers(server),
};

describeWithServer('contention between processes', (server) => {
  let proxy: FaultProxy;

  before(async () => {
    proxy = await startProxy(server().port);
  });

  afterEach(stopProcesses);
  after(() => proxy.stop());

  for (const [title, trouble] of Object.entries(troubles)) {
    it(`serves all and keeps the limit while ${title}`, async () => {
      const job = { name: title, limit: 10, tasks: 25, rounds: 2, hold: 30 };
      const url = `redis://127.0.0.1:${proxy.port}`;
      const processes = await Promise.all(KINDS.map((kind) => TestProcess.start({ kind, url })));
      await expectKept(server(), processes, job, () => trouble(proxy, server()));
    });
  }
});

describeWithFakeClock('processes whose wall clocks are a minute off', (server) => {
  afterEach(stopProcesses);

  it('keep the limit, and their tickets live for their ttl', async () => {
    const options = { limit: 2, ttl: 3000 };
    const args = { kind: 'ioredis', url: server().url, name: 'lives', options } as const;
    const processes = await Promise.all(
      [60_000, -60_000].map((wallClockOffset) => TestProcess.start(args, { wallClockOffset })),
    );
    const tickets = await Promise.all(processes.map((process) => process.ask('acquire', {})));
    const stored = new StoredSemaphore(server(), 'lives');
    const born = await stored.tickets();
    expect(born.map(({ id }) => id)).to.have.members(tickets.map(({ id }) => id));
    const now = await stored.now();
    for (const { expiresAt } of born) expect(expiresAt - now).to.be.within(1, options.ttl);
    await expectKept(server(), processes, { name: 'off', limit: 2, tasks: 5, rounds: 8, hold: 10 });
    for (const { worker } of processes) {
      expect(worker.messages.map(({ type }) => type)).to.not.include('lost');
    }
  });
});

async function expectKept(
  server: TestServer,
  processes: readonly TestProcess[],
  job: Job,
  trouble: () => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  const stored = new StoredSemaphore(server, job.name);
  const struck = await whileRepeating(100, trouble, () =>
    whileRepeating(
      5,
      async () => (await stored.tickets()).length,
      () => Promise.all(processes.map((process) => process.ask('run', job))),
    ),
  );
  const [intervals, levels] = [struck.value.value.flat(), struck.value.results];
  expect(struck.results, 'times of trouble').to.not.be.empty;
  expect(Math.max(...levels)).to.be.at.most(job.limit);
  expect(intervals).to.have.lengthOf(processes.length * job.tasks * job.rounds);
  expect(peakOf(intervals)).to.equal(job.limit);
  expectFencing(intervals);
  // What could not be given back at once expires by itself.
  await eventually(async () => (await stored.keys()).join() === 'meta', 'nothing is left');
}
