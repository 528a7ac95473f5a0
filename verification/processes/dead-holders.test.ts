import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
import { describeWithServer } from '../../test/support/require-server.js';
import type { WorkerExit, WorkerProcess } from '../../test/support/worker-process.js';
import { acquireIn, type Lost, type Sample, startHolder } from './holder-process.js';
import { machineTime } from './hold-intervals.js';
import { leftKeys } from './holder-count.js';
import { type ClientKind, type OpenClient, openClient } from '../../test/support/open-client.js';
import { whileRepeating } from './repeat.js';
import { expiryOf, liveTickets } from './server-records.js';
import { eventually } from '../../test/support/eventually.js';
import { LATE_MS, timed } from '../support/timed.js';

const ttl = 1500;
/** For the server and the other process, which other load may hold up, in milliseconds. */
const slack = 1000;

interface Death {
  readonly title: string;
  readonly holder: ClientKind;
  readonly contender: ClientKind;
  readonly exit: WorkerExit;
  readonly die: (worker: WorkerProcess) => void;
}

const deaths: readonly Death[] = [
  {
    title: 'is killed',
    holder: 'redis',
    contender: 'ioredis',
    exit: { code: null, signal: 'SIGKILL' },
    die: (worker) => worker.kill(),
  },
  {
    title: 'exits without release',
    holder: 'ioredis',
    contender: 'redis',
    exit: { code: 0, signal: null },
    die: (worker) => worker.send({ type: 'exit' }),
  },
  {
    title: 'ends by itself, having closed its client and released nothing',
    holder: 'ioredis',
    contender: 'redis',
    exit: { code: 0, signal: null },
    die: (worker) => worker.send({ type: 'leave' }),
  },
];

describeWithServer('a holder that dies', (server) => {
  let client: OpenClient | undefined;
  let worker: WorkerProcess | undefined;

  afterEach(async () => {
    worker?.kill();
    await client?.close();
  });

  for (const { title, holder, contender, exit, die } of deaths) {
    it(`frees its permit when its ticket expires, by one ttl, when its process ${title}`, async () => {
      const { url } = server();
      const name = `dead ${title}`;
      worker = await startHolder({ kind: holder, url, name, limit: 1, ttl });
      client = await openClient(contender, url);
      const dead = await acquireIn(worker);
      const sem = new Semaphore(client.target, name, { limit: 1, ttl });
      const look = async (): Promise<number> => ((await sem.tryAcquire()) === null ? 0 : 1);
      const acquiring = sem.acquire();
      await eventually(async () => (await sem.inspect()).waiting === 1, 'it waits');
      let expiry = await expiryOf(server(), name, dead.id);
      const { value, took } = await timed(() =>
        // Each look gives away what has expired: it must not do so too early, nor overtake the one that waits.
        whileRepeating(10, look, async () => {
          die(worker as WorkerProcess);
          expect(await worker?.exited).to.deep.equal(exit);
          // Extended once more before it died, or not.
          expiry = (await expiryOf(server(), name, dead.id)) ?? expiry;
          return acquiring;
        }),
      );
      expect(value.results).to.not.include(1);
      expect(took).to.be.below(ttl + LATE_MS + slack);
      // A token is the time of the grant in microseconds, wherever that is higher than the last token.
      expect(value.value.fencingToken).to.be.at.least(expiry ?? Infinity);
      await sem.close();
      expect(await leftKeys(server(), name)).to.deep.equal(['meta']);
    });
  }
});

describeWithServer('a holder that is stopped for longer than its ttl', (server) => {
  let client: OpenClient | undefined;
  let worker: WorkerProcess | undefined;

  afterEach(async () => {
    worker?.kill();
    await client?.close();
  });

  for (const kind of ['redis', 'ioredis'] as const) {
    it(`finds its permit lost at once when it goes on (${kind})`, async () => {
      const name = `stopped ${kind}`;
      worker = await startHolder({ kind, url: server().url, name, limit: 1, ttl });
      client = await openClient(kind, server().url);
      const stopped = await acquireIn(worker);
      // Held for long: it must not be lost while the stopped one is looked at.
      const sem = new Semaphore(client.target, name, { limit: 1, ttl: 30_000 });
      const acquiring = sem.acquire();
      worker.pause();
      const handle = await acquiring;
      const at = machineTime();
      expect(handle.fencingToken).to.be.above(stopped.token);
      worker.resume();
      const lost = (await worker.next('lost')).data as Lost;
      expect(lost).to.include({ id: stopped.id, held: false });
      expect(lost.reason).to.be.oneOf(['expired', 'missing']);
      await expectNeverHeldAfter(worker, at);
      expect(handle.held).to.equal(true);
      expect(await liveTickets(server(), name)).to.equal(1);
      expect(worker.messages.filter(({ type }) => type === 'lost')).to.have.lengthOf(1);
      // What it gives back late is its own ticket, which is gone, and not the permit of its successor.
      worker.send({ type: 'release' });
      expect((await worker.next('released')).data).to.equal(false);
      expect(await expiryOf(server(), name, handle.id)).to.be.a('number');
      await sem.close();
    });
  }
});

async function expectNeverHeldAfter(worker: WorkerProcess, at: number): Promise<void> {
  worker.send({ type: 'samples' });
  const samples = (await worker.next('samples')).data as Sample[];
  const after = samples.filter((sample) => sample.at > at);
  expect(after).to.not.be.empty;
  expect(after.filter(({ held }) => held)).to.deep.equal([]);
}
