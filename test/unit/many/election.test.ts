import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect } from 'chai';

import type { ElectionWarning } from '../../../src/index.js';
import { ClosedError, Election, HandleLostError } from '../../../src/index.js';
import { ManualClock, MemoryBackend } from '../../../src/index.js';
import { reasonOf } from '../../support/rejection.js';
import { StubBackend } from '../stub-backend.js';

const name = 'scheduler';

describe('an election', () => {
  let clock: ManualClock;
  let backend: MemoryBackend;

  beforeEach(() => {
    clock = new ManualClock();
    backend = new MemoryBackend({ clock });
  });

  /** A candidate, and the tokens of the terms that its `leader` event has reported. */
  function candidate(again = false): [Election, number[]] {
    const tokens: number[] = [];
    const election = new Election(backend, name, { again, ttl: 1000 });
    return [election.on('leader', ({ fencingToken }) => tokens.push(fencingToken)), tokens];
  }

  it('campaigns again after a loss, behind the waiters, until it resigns', async () => {
    const [[first, terms], [other, otherTerms]] = [candidate(true), candidate()];
    await first.campaign();
    const next = other.campaign();
    await clock.advance(0);
    clock.stall(1001);
    await clock.advance(100);
    expect((await next).held).to.equal(true);
    expect(await other.mutex.inspect()).to.include({ held: 1, waiting: 1 });
    await other.resign();
    await clock.advance(0);
    expect([other.leadership, terms.length]).to.deep.equal([undefined, 2]);
    expect(first.leadership?.fencingToken).to.equal(terms[1]);
    expect(otherTerms[0]).to.be.within(terms[0] ?? NaN, terms[1] ?? NaN);
    expect([await first.resign(), await first.resign()]).to.deep.equal([true, false]);
    await clock.advance(5000);
    expect(terms).to.have.lengthOf(2);
    expect(await first.mutex.inspect()).to.include({ held: 0, waiting: 0 });
  });

  it('that does not lead any more, because its handle was released, resigns with false', async () => {
    const [election] = candidate();
    await (await election.campaign()).release();
    expect([await election.resign(), await election.resign()]).to.deep.equal([false, false]);
  });

  for (const [end, again] of [
    ['is lost without the option again', false],
    ['is lost after its signal has aborted', true],
    ["is lost after its signal has aborted with another handle's loss", true],
    ['is closed', true],
  ] as const) {
    it(`ends its campaign with a leadership that ${end}, and leaves no candidate [P8]`, async () => {
      const [election, tokens] = candidate(again);
      const heard: unknown[] = [];
      election.on('warning', (warning) => heard.push(warning));
      const abort = new AbortController();
      const leadership = await election.campaign(abort.signal);
      leadership.on('lost', ({ reason }) => heard.push(reason));
      if (end.endsWith('aborted')) abort.abort();
      if (end.includes('another')) abort.abort(new HandleLostError('jobs', 'a.1', 'expired'));
      expect(leadership.held).to.equal(true);
      if (end === 'is closed') await election.close();
      clock.stall(1001);
      expect(election.leadership).to.equal(undefined);
      await clock.advance(1000);
      expect(heard).to.deep.equal([end === 'is closed' ? 'closed' : 'expired']);
      expect([leadership.signal.aborted, tokens.length]).to.deep.equal([true, 1]);
      await using looking = new Election(backend, name);
      expect(await looking.mutex.inspect()).to.include({ held: 0, waiting: 0 });
      if (end !== 'is closed') expect(await election.resign()).to.equal(false);
      await election.close();
    });
  }

  it('rejects a campaign that a signal, resign or close ends, and gives back a permit that comes meanwhile', async () => {
    const [[leader], [other, tokens]] = [candidate(), candidate()];
    const resign = (): void => void other.resign();
    subscribe('redsem:grant', resign);
    const granted = await reasonOf(other.campaign());
    unsubscribe('redsem:grant', resign);
    await clock.advance(0);
    expect(await other.mutex.inspect()).to.include({ held: 0, waiting: 0 });
    await leader.campaign();
    const ended = AbortSignal.abort(new Error('before'));
    expect(await reasonOf(other.campaign(ended))).to.equal(ended.reason);
    const resigned = reasonOf(other.campaign());
    await clock.advance(0);
    expect(await other.resign()).to.equal(false);
    for (const reason of [granted, await resigned])
      expect(reason).to.be.instanceOf(DOMException).with.property('name', 'AbortError');
    const closed = reasonOf(other.campaign());
    await other.close();
    expect(await closed).to.be.instanceOf(ClosedError);
    expect(tokens).to.deep.equal([]);
    expect(await leader.mutex.inspect()).to.include({ held: 1, waiting: 0 });
  });

  it('warns when its campaign after a loss fails', async () => {
    const stub = new StubBackend();
    stub.isRetryable = () => false;
    const failure = new Error('NOPERM');
    stub.onAcquire = (call, index) =>
      index === 0 ? stub.allGranted(call) : Promise.reject(failure);
    stub.onExtend = (call) => stub.extended(call, false);
    const election = new Election(stub, name, { again: true, ttl: 3000 });
    const warnings: ElectionWarning[] = [];
    election.on('warning', (warning) => warnings.push(warning));
    await election.campaign();
    await stub.clock.advance(3000);
    expect(stub.acquires).to.have.lengthOf(2);
    expect(warnings.map(({ code }) => code)).to.deep.equal(['CAMPAIGN_FAILED']);
    expect(warnings[0]?.message).to.match(/^the election "scheduler" has no candidate here/);
    expect(warnings[0]?.cause).to.have.property('cause', failure);
  });
});
