import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect } from 'chai';

import type { ElectionWarning, Handle } from '../../../src/index.js';
import {
  ClosedError,
  Election,
  HandleLostError,
  ManualClock,
  MemoryBackend,
} from '../../../src/index.js';
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

  /** A candidate, with the tokens of the terms that its `leader` event has reported. */
  function candidate(again = false): { election: Election; tokens: number[] } {
    const election = new Election(backend, name, { again, ttl: 1000 });
    const tokens: number[] = [];
    election.on('leader', ({ fencingToken }: Handle) => tokens.push(fencingToken));
    return { election, tokens };
  }

  it('campaigns again after a loss, behind the waiters, until it resigns', async () => {
    const [first, other] = [candidate(true), candidate()];
    await first.election.campaign();
    const next = other.election.campaign();
    await clock.advance(0);
    clock.stall(1001);
    await clock.advance(100);
    expect((await next).held).to.equal(true);
    expect(await other.election.mutex.inspect()).to.include({ held: 1, waiting: 1 });
    await other.election.resign();
    await clock.advance(0);
    expect(first.tokens).to.have.lengthOf(2);
    expect(other.election.leadership).to.equal(undefined);
    expect(first.election.leadership?.fencingToken).to.equal(first.tokens[1]);
    expect(other.tokens[0]).to.be.within(first.tokens[0] ?? NaN, first.tokens[1] ?? NaN);
    expect(await first.election.resign()).to.equal(true);
    expect(await first.election.resign()).to.equal(false);
    await clock.advance(5000);
    expect(first.tokens).to.have.lengthOf(2);
    expect(await first.election.mutex.inspect()).to.include({ held: 0, waiting: 0 });
  });

  for (const [end, again] of [
    ['is lost without the option again', false],
    ['is lost after its signal has aborted', true],
    ["is lost after its signal has aborted with another handle's loss", true],
    ['is closed', true],
  ] as const) {
    it(`ends its campaign with a leadership that ${end}, and leaves no candidate [P8]`, async () => {
      const { election, tokens } = candidate(again);
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
    const [leader, other] = [candidate(), candidate()];
    const resign = (): void => void other.election.resign();
    subscribe('redsem:grant', resign);
    const granted = await reasonOf(other.election.campaign());
    unsubscribe('redsem:grant', resign);
    await clock.advance(0);
    expect(await other.election.mutex.inspect()).to.include({ held: 0, waiting: 0 });
    await leader.election.campaign();
    const ended = AbortSignal.abort(new Error('before'));
    expect(await reasonOf(other.election.campaign(ended))).to.equal(ended.reason);
    const resigned = reasonOf(other.election.campaign());
    await clock.advance(0);
    expect(await other.election.resign()).to.equal(false);
    for (const reason of [granted, await resigned])
      expect(reason).to.be.instanceOf(DOMException).with.property('name', 'AbortError');
    const closed = reasonOf(other.election.campaign());
    await other.election.close();
    expect(await closed).to.be.instanceOf(ClosedError);
    expect(other.tokens).to.deep.equal([]);
    expect(await leader.election.mutex.inspect()).to.include({ held: 1, waiting: 0 });
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
