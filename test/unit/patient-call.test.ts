import { expect } from 'chai';

import { BackendError } from '../../src/errors.js';
import { ManualClock } from '../../src/manual-clock.js';
import { patientCall } from '../../src/patient-call.js';
import { NoReplyError } from '../../src/time-limit.js';
import { never, watch } from './stub-backend.js';

describe('a patient call', () => {
  const retry = { min: 10, max: 80, factor: 2, jitter: false };
  const broken = new Error('ECONNRESET');
  const refused = new Error('NOPERM');

  function bench(call: (attempt: number) => Promise<string>, limit = 1000) {
    const clock = new ManualClock();
    const tries: number[] = [];
    const isRetryable = (error: unknown): boolean => error !== refused;
    const start = clock.monotonic();
    const promise = patientCall({ clock, retry, limit, isRetryable }, 'asking', () => {
      tries.push(clock.monotonic() - start);
      return call(tries.length);
    });
    return { clock, tries, watched: watch(clock, promise), start };
  }

  it('gives what its first try gives', async () => {
    const { clock, tries, watched } = bench(() => Promise.resolve('reply'));
    await clock.advance(0);
    expect(watched).to.include({ done: true, value: 'reply' });
    await clock.advance(2000);
    expect(tries).to.deep.equal([0]);
  });

  it('tries again after pauses that grow, until it succeeds', async () => {
    const { clock, tries, watched } = bench((attempt) =>
      attempt < 7 ? Promise.reject(broken) : Promise.resolve('reply'),
    );
    await clock.advance(900);
    expect(tries).to.deep.equal([0, 10, 30, 70, 150, 230, 310]);
    expect(watched).to.include({ done: true, value: 'reply' });
  });

  it('rejects at once where trying again cannot help', async () => {
    const { clock, tries, watched } = bench((attempt) =>
      Promise.reject(attempt === 1 ? broken : refused),
    );
    await clock.advance(15);
    expect(tries).to.deep.equal([0, 10]);
    expect(watched.error).to.be.instanceOf(BackendError);
    expect(watched.error).to.include({ code: 'BACKEND', cause: refused });
    expect((watched.error as Error).message).to.match(/^asking failed.*NOPERM/);
  });

  it('rejects when its time is over, with the last error, and tries no more', async () => {
    const { clock, tries, watched, start } = bench(() => Promise.reject(broken), 200);
    await clock.advance(5000);
    expect(watched.error).to.be.instanceOf(BackendError);
    expect(watched.error).to.have.property('cause', broken);
    expect((watched.at ?? 0) - start).to.equal(200);
    expect(tries).to.deep.equal([0, 10, 30, 70, 150]);
  });

  it('rejects when its time is over though nothing was ever answered', async () => {
    const { clock, tries, watched, start } = bench(never, 200);
    await clock.advance(199);
    expect(watched.done).to.equal(false);
    await clock.advance(1);
    expect(watched.error).to.be.instanceOf(BackendError);
    expect((watched.error as Error).cause).to.be.instanceOf(NoReplyError);
    expect((watched.at ?? 0) - start).to.equal(200);
    await clock.advance(5000);
    expect(tries).to.deep.equal([0]);
  });

  it('rejects with the error that came before the silence', async () => {
    const { clock, watched } = bench((attempt) =>
      attempt === 1 ? Promise.reject(broken) : never(),
    );
    await clock.advance(1000);
    expect(watched.error).to.have.property('cause', broken);
  });

  it('leaves no timer behind once it has succeeded', async () => {
    const { clock, watched } = bench(() => Promise.resolve('reply'));
    await clock.advance(0);
    expect(watched.done).to.equal(true);
    expect(clock.timers).to.equal(0);
  });

  it('is settled once: a try that fails after the time is over changes nothing', async () => {
    let fail = (_: Error): void => {};
    const { clock, watched, tries } = bench(
      () => new Promise((_resolve, reject) => (fail = reject)),
      100,
    );
    await clock.advance(100);
    const { error } = watched;
    expect(error).to.be.instanceOf(BackendError);
    fail(refused);
    await clock.advance(1000);
    expect(watched.error).to.equal(error);
    expect(tries).to.deep.equal([0]);
  });

  it('takes what is thrown at once for a failure, too', async () => {
    const { clock, watched } = bench(() => {
      throw refused;
    });
    await clock.advance(0);
    expect(watched.error).to.include({ code: 'BACKEND', cause: refused });
  });
});
