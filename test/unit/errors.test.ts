import { expect } from 'chai';

import {
  AcquireTimeoutError,
  BackendError,
  ClosedError,
  HandleLostError,
  isRedsemError,
  RedsemError,
} from '../../src/errors.js';

const known = { BackendError, isRedsemError };

describe('errors', () => {
  const details = { name: 'jobs', timeout: 500, waited: 500.4, attempts: 12 };

  it('of a timeout tell name, timeout, waited, attempts', () => {
    const error = new AcquireTimeoutError(details);
    expect(error).to.include({
      name: 'AcquireTimeoutError',
      code: 'ACQUIRE_TIMEOUT',
      semaphore: 'jobs',
      timeout: 500,
      waited: 500,
      attempts: 12,
      message: 'no permit of "jobs" came free within 500 ms (12 tries in 500 ms)',
    });
    expect(error).not.to.have.own.property('cause');
  });

  it('of a timeout keep the last error of the backend', () => {
    const cause = new Error('connect ECONNREFUSED 127.0.0.1:6379');
    const error = new AcquireTimeoutError({ ...details, attempts: 1 }, cause);
    expect(error.cause).to.equal(cause);
    expect(error.message).to.equal(
      'no permit of "jobs" came free within 500 ms (1 try in 500 ms); last error: connect ECONNREFUSED 127.0.0.1:6379',
    );
  });

  it('of a loss tell the reason', () => {
    for (const [reason, text] of [
      ['expired', 'its lease ran out before an extension was confirmed'],
      ['missing', 'the backend no longer has its ticket'],
      ['revoked', 'it was revoked'],
      ['closed', 'its semaphore was closed'],
    ] as const) {
      const error = new HandleLostError('jobs', 'abc.1', reason);
      expect(error).to.include({
        name: 'HandleLostError',
        code: 'HANDLE_LOST',
        reason,
        semaphore: 'jobs',
        ticketId: 'abc.1',
        message: `the permit of "jobs" is lost: ${text} (ticket abc.1)`,
      });
    }
  });

  it('of a loss keep the cause', () => {
    const cause = new Error('gone');
    expect(new HandleLostError('jobs', 'a.1', 'expired', cause).cause).to.equal(cause);
    expect(new HandleLostError('jobs', 'a.1', 'expired')).not.to.have.own.property('cause');
  });

  it('of the backend say what failed and why, whatever was thrown', () => {
    const texts: readonly (readonly [unknown, string])[] = [
      [new Error('WRONGTYPE x'), 'acquiring failed: WRONGTYPE x'],
      ['text', 'acquiring failed: text'],
      [null, 'acquiring failed: null'],
      [new TypeError(''), 'acquiring failed: TypeError'],
      [new AggregateError([new Error('one'), new Error('two')]), 'acquiring failed: one; two'],
      [new AggregateError([new Error('one')], 'all failed'), 'acquiring failed: all failed'],
    ];
    for (const [cause, message] of texts) {
      const error = new BackendError('acquiring failed', cause);
      expect(error).to.include({ name: 'BackendError', code: 'BACKEND', message });
      expect(error.cause).to.equal(cause);
    }
    expect(new BackendError('no answer').message).to.equal('no answer');
  });

  it('of a closed semaphore name it', () => {
    expect(new ClosedError('jo"bs')).to.include({
      name: 'ClosedError',
      code: 'CLOSED',
      message: String.raw`the semaphore "jo\"bs" is closed`,
    });
  });

  it('are RedsemErrors and Errors, with a stack that starts with name and message', () => {
    for (const error of [
      new AcquireTimeoutError(details),
      new HandleLostError('jobs', 'a.1', 'missing'),
      new BackendError('x'),
      new ClosedError('jobs'),
    ]) {
      expect(error).to.be.instanceOf(RedsemError).and.instanceOf(Error);
      expect(error.stack).to.include(error.message);
      expect(String(error)).to.equal(`${error.name}: ${error.message}`);
      expect(isRedsemError(error)).to.equal(true);
    }
  });

  it('are known across copies of the package', async () => {
    const path = `../../src/errors.js?copy`;
    const copy = (await import(path)) as typeof known;
    const foreign = new copy.BackendError('x');
    expect(foreign).not.to.be.instanceOf(BackendError);
    expect(isRedsemError(foreign)).to.equal(true);
    expect(copy.isRedsemError(new BackendError('x'))).to.equal(true);
  });

  it('show no more than they say when they are listed', () => {
    expect(Object.keys(new ClosedError('x')).toSorted()).to.deep.equal(['code', 'name']);
    expect(JSON.parse(JSON.stringify(new BackendError('x')))).to.include({ code: 'BACKEND' });
  });

  it('of other packages are not ours', () => {
    for (const other of [new Error('x'), null, undefined, 'x', 1, {}, { code: 'BACKEND' }]) {
      expect(isRedsemError(other)).to.equal(false);
    }
  });
});
