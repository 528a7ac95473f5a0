import { expect } from 'chai';

import type { KeyedMutexWarning, SemaphoreWarning } from '../../src/index.js';
import { acquireAll, BackendError, KeyedMutex, Semaphore, useAll } from '../../src/index.js';
import { reasonOf } from '../support/rejection.js';
import { StubBackend, watch } from './stub-backend.js';

describe('a release that fails', () => {
  const cause = new Error('MISCONF no more writes');

  /** Semaphores on one backend; the releases of those that are named are refused. */
  function bench(...refusing: readonly string[]) {
    const backend = new StubBackend();
    backend.onAcquire = (call) => backend.allGranted(call);
    backend.isRetryable = () => false;
    backend.onRelease = (call) => {
      if (refusing.includes(call.key.name)) throw cause;
      return backend.released(call);
    };
    const warnings: [name: string, warning: SemaphoreWarning][] = [];
    const [jobs, mails] = ['jobs', 'mails'].map((name) => {
      const semaphore = new Semaphore(backend, name, { limit: 2 });
      semaphore.on('warning', (warning) => warnings.push([name, warning]));
      return semaphore;
    });
    if (jobs === undefined || mails === undefined) throw new Error('no semaphores');
    const { clock } = backend;
    const told = async (): Promise<string[]> => {
      await clock.advance(0);
      return warnings.map(([name, { code }]) => `${name} ${code}`);
    };
    return { backend, clock, jobs, mails, warnings, told };
  }

  it('beside a result is told by a warning, and tried on', async () => {
    const { backend, clock, jobs, warnings, told } = bench('jobs');
    expect(await jobs.use(() => 7)).to.equal(7);
    expect(await jobs.tryUse(() => 8)).to.deep.equal({ ran: true, result: 8 });
    expect(await told()).to.deep.equal(['jobs RELEASE_FAILED', 'jobs RELEASE_FAILED']);
    const [, warning] = warnings[0] ?? [];
    expect(warning?.cause).to.be.instanceOf(BackendError).with.property('cause', cause);
    expect(warning?.message).to.match(/^a permit of "jobs" is not given back yet: .*MISCONF/);
    const tries = backend.releases.length;
    await clock.advance(2000);
    expect(backend.releases.length).to.be.above(tries);
  });

  it('beside an error is told as its cause, or by a warning where that has no room for it', async () => {
    const { jobs, told } = bench('jobs');
    const error = new Error('own');
    const thrown = await reasonOf(jobs.use(() => Promise.reject(error)));
    expect(thrown).to.equal(error);
    expect(error.cause).to.be.instanceOf(BackendError);
    expect(await told()).to.deep.equal([]);
    const causes = Object.assign(new Error('full', { cause: 1 }), { suppressed: 2 });
    for (const full of [Object.freeze(new Error('frozen')), causes]) {
      expect(await reasonOf(jobs.use(() => Promise.reject(full)))).to.equal(full);
    }
    expect(await told()).to.have.length(2);
  });

  it('of a handle that is disposed of is told by a warning, and to a caller by its rejection alone', async () => {
    const { jobs, told } = bench('jobs');
    const [first, second] = [await jobs.acquire(), await jobs.acquire()];
    expect(await reasonOf(first.release())).to.be.instanceOf(BackendError);
    expect(await told()).to.deep.equal([]);
    await second[Symbol.asyncDispose]();
    expect(await told()).to.deep.equal(['jobs RELEASE_FAILED']);
  });

  it('of one among several is told by its own semaphore', async () => {
    const { jobs, mails, told } = bench('mails');
    expect(await useAll([jobs, mails], () => 7)).to.equal(7);
    const handle = await acquireAll([jobs, mails]);
    await handle[Symbol.asyncDispose]();
    expect(await told()).to.deep.equal(['mails RELEASE_FAILED', 'mails RELEASE_FAILED']);
  });

  it('of keys is told by their keyed mutex', async () => {
    const { backend, clock } = bench();
    const locks = new KeyedMutex(backend, { name: 'keys' });
    const warnings: KeyedMutexWarning[] = [];
    locks.on('warning', (warning) => warnings.push(warning));
    backend.onRelease = (call) => {
      if (call.key.name.endsWith('bob')) throw cause;
      return backend.released(call);
    };
    expect(await locks.use(['alice', 'bob'], () => 7)).to.equal(7);
    await clock.advance(0);
    expect(warnings.map(({ code }) => code)).to.deep.equal(['RELEASE_FAILED']);
    expect(warnings[0]?.message).to.match(/^a key of keyed mutex "keys" is not given back yet/);
  });

  it('of what was taken for nothing is told, too', async () => {
    const { backend, clock, jobs, mails, told } = bench('jobs');
    backend.onAcquire = (call) =>
      call.key.name === 'jobs' ? backend.allGranted(call) : backend.allBusy(call);
    const taking = watch(clock, acquireAll([jobs, mails], 0));
    await clock.advance(10);
    expect(taking.error).to.have.property('code', 'ACQUIRE_TIMEOUT');
    expect(await told()).to.deep.equal(['jobs RELEASE_FAILED']);
  });

  it('needs nobody to listen', async () => {
    const { clock, backend } = bench('alone');
    const alone = new Semaphore(backend, 'alone', { limit: 1 });
    expect(await alone.use(() => 7)).to.equal(7);
    await clock.advance(0);
  });
});
