import { expect } from 'chai';

import { ManualClock } from '../../src/manual-clock.js';
import { PermitRequest } from '../../src/permit-request.js';
import { NoReplyError } from '../../src/time-limit.js';

describe('why a request has no permit yet', () => {
  const owner = {
    onGranted: () => {},
    onRefused: () => {},
    onFailed: () => {},
    onOverdue: () => {},
    onAborted: () => {},
  };

  let request: PermitRequest;

  beforeEach(() => {
    const ask = { permits: 1, wait: true, timeout: 1000, signal: undefined };
    request = new PermitRequest('a.1', ask, new ManualClock(), owner, undefined);
  });

  it('is no trouble before its first call', () => {
    expect(request.trouble(1000)).to.equal(undefined);
  });

  it('is the silence of the backend, where it never answered', () => {
    request.attempts = 1;
    request.sentAt = 100;
    const trouble = request.trouble(101);
    expect(trouble).to.be.instanceOf(NoReplyError);
    expect(String(trouble)).to.include('within 1 ms');
  });

  it('is a silence of 50 ms or more, where it answered before', () => {
    Object.assign(request, { attempts: 2, sentAt: 100, queued: true });
    expect(request.trouble(149)).to.equal(undefined);
    expect(request.trouble(150)).to.be.instanceOf(NoReplyError);
  });

  it('is the lack of permits alone, where it waits in the queue', () => {
    Object.assign(request, { attempts: 1, queued: true, state: 'waiting' });
    expect(request.trouble(10_000)).to.equal(undefined);
  });

  it('is its last error, whatever else', () => {
    const error = new Error('away');
    Object.assign(request, { attempts: 1, queued: true, state: 'waiting', lastError: error });
    expect(request.trouble(10_000)).to.equal(error);
  });
});
