import { expect } from 'chai';

import { BackendError, type Handle, RedsemError } from '../../src/index.js';
import { releaseScript } from '../../src/backends/redis/scripts.js';
import { eventually } from '../../test/support/eventually.js';
import { leastRights } from '../../test/support/least-rights.js';
import { reasonOf } from '../../test/support/rejection.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { lossesOf, throughBothClients } from './fixture.js';

const refusals: readonly string[] = [
  'MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist on disk.',
  "NOPERM this user has no permissions to run the 'evalsha' command",
  'NOAUTH Authentication required.',
  "READONLY You can't write against a read only replica.",
  "OOM command not allowed when used memory > 'maxmemory'.",
];

describeWithServer('a server that refuses to write for a while', (server) => {
  const test = throughBothClients(server);

  for (const refusal of refusals) {
    const word = refusal.slice(0, refusal.indexOf(' '));

    test(`keeps nothing of what was given up meanwhile: ${word}`, async (fixture) => {
      const { connection, semaphore } = await fixture.faulty();
      const holder = await semaphore.acquire();
      const controller = new AbortController();
      const aborted = reasonOf(semaphore.acquire({ signal: controller.signal }));
      const late = reasonOf(semaphore.acquire(400));
      await fixture.untilQueued(2);
      connection.fault = () => Promise.reject(new Error(refusal));
      const fresh = reasonOf(semaphore.acquire(300));
      controller.abort('enough');
      const releasing = holder.release().catch((error: unknown) => error);
      expect(await aborted).to.equal('enough');
      for (const rejected of [fresh, late]) expect(await rejected).to.be.instanceOf(RedsemError);
      const isRelease = (sha1: string): boolean => sha1 === releaseScript.sha1;
      await eventually(() => expect(connection.scripts.filter(isRelease)).to.have.length.above(2));
      expect(await fixture.stored.queue()).to.have.length(2);
      connection.fault = undefined;
      await fixture.stored.expectEmpty();
      // READONLY passes at a failover, so that a release waits for an answer.
      expect(await releasing).to.satisfy(
        (answer: unknown) => answer === true || answer instanceof BackendError,
      );
      await fixture.expectUsable(semaphore);
    });
  }

  test('gets back what was given back, and keeps what is held, when rights were away', async (fixture) => {
    const login = { username: 'sometimes', password: 'secret' };
    const change = (...rules: string[]): Promise<unknown> =>
      server().command('ACL', 'SETUSER', login.username, ...rules);
    await change('reset', 'on', `>${login.password}`, ...leastRights);
    const semaphore = await fixture.semaphore({ limit: 3, extendEvery: 50 }, server().port, login);
    const warnings: string[] = [];
    semaphore.on('warning', ({ code }) => warnings.push(code));
    const [kept, handle] = [await semaphore.acquire(), await semaphore.acquire()];
    const losses = lossesOf(kept);
    expect(await semaphore.use(() => change('-evalsha', '-eval').then(() => 7))).to.equal(7);
    expect(await reasonOf(handle.release())).to.be.instanceOf(BackendError);
    await eventually(() => expect(warnings).to.deep.equal(['RELEASE_FAILED']));
    expect(await fixture.stored.tickets()).to.have.length(3);
    await change('+evalsha', '+eval');
    await fixture.stored.expectHeldBy([kept]);
    await fixture.untilExtended();
    expect(losses).to.deep.equal([]);
    expect(await kept.release()).to.equal(true);
    await fixture.expectUsable(semaphore);
  });
});

describeWithServer('a server whose memory is full', (server) => {
  const test = throughBothClients(server);

  async function fill(): Promise<void> {
    await server().command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    await server().command('CONFIG', 'SET', 'maxmemory', '1');
    expect(String(await reasonOf(server().command('SET', 'anything', 'x')))).to.match(/OOM/);
  }

  afterEach('make room', () => server().command('CONFIG', 'SET', 'maxmemory', '0'));

  /** What the call gives, or the error that it was refused with for want of memory. */
  async function unlessFull<T>(call: Promise<T>): Promise<T | BackendError> {
    return call.catch((error: unknown) => {
      expect(error).to.be.instanceOf(BackendError);
      expect(String((error as BackendError).cause)).to.match(/OOM/);
      return error as BackendError;
    });
  }

  test('gives back, hands over and extends; grants, adopts and sets whole or not', async (fixture) => {
    const semaphore = await fixture.semaphore({ limit: 3, ttl: 10_000, extendEvery: 40 });
    const held = [await semaphore.acquire(), await semaphore.acquire(), await semaphore.acquire()];
    const [kept, given, revoked] = held as [Handle, Handle, Handle];
    const losses = lossesOf(kept);
    const waiting = semaphore.acquire(10_000);
    await fixture.untilQueued(1);
    await fill();
    await kept.extend();
    await fixture.untilExtended();
    // The middle one: its slot must be written down as free.
    expect(await given.release()).to.equal(true);
    const next = await waiting;
    expect(await semaphore.revoke(revoked.id)).to.equal(true);
    const taken = await unlessFull(semaphore.acquire());
    const stored = taken instanceof Error ? [kept, next] : [kept, next, taken];
    await fixture.stored.expectHeldBy(stored);
    expect(losses).to.deep.equal([]);
    const adopted = await unlessFull(semaphore.adopt(kept.toJSON()));
    if (!(adopted instanceof Error)) stored[0] = adopted;
    await fixture.stored.expectHeldBy(stored);
    await fixture.stored.expectWithin(3);
    const set = await unlessFull(semaphore.setLimit(4));
    const limit = set instanceof Error ? 3 : 4;
    expect(await semaphore.inspect()).to.include({ limit, waiting: 0 });
    for (const handle of stored) expect(await handle.release()).to.equal(true);
    await server().command('CONFIG', 'SET', 'maxmemory', '0');
    await fixture.expectUsable(semaphore);
  });
});
