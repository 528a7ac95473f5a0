import { expect } from 'chai';

import type { AdoptCall, Backend, SetLimitCall, SetLimitReply } from '../../src/backend.js';
import { BackendError, Semaphore } from '../../src/index.js';
import type { Noted } from './stub-backend.js';
import { StubBackend, watch } from './stub-backend.js';

/** How far two clocks may run apart between two replies, in milliseconds: the backend's clock shows no more than this beyond. */
const SLACK = 10;

/** The longest that a call of an operator takes with all its tries, in milliseconds. */
const PATIENCE = 5000;

describe('setLimit and adopt that reach the backend too late', () => {
  let backend: StubBackend & Backend;
  let semaphore: Semaphore;
  let calls: Noted<SetLimitCall>[];
  let onSetLimit: (index: number) => SetLimitReply | Promise<SetLimitReply>;

  const reply = (late: boolean): SetLimitReply => {
    return { serverTime: backend.serverTime, grants: [], late };
  };

  beforeEach(() => {
    backend = new StubBackend();
    calls = [];
    onSetLimit = () => reply(false);
    backend.setLimit = async (call) => {
      const index = calls.push({ at: backend.clock.monotonic(), call }) - 1;
      return onSetLimit(index);
    };
    semaphore = new Semaphore(backend, 'jobs', { limit: 1, ttl: 30_000 });
  });

  it('carry no last moment while the clock of the backend is not known', async () => {
    await semaphore.setLimit(2);
    expect(calls.map(({ call }) => call.notAfter)).to.deep.equal([undefined]);
  });

  it('carry the end of their patience as the last moment, each try the same', async () => {
    backend.onAcquire = (call) => backend.allBusy(call);
    await semaphore.tryAcquire();
    onSetLimit = async (index) => {
      if (index < 3) throw new Error('away');
      return reply(false);
    };
    await backend.clock.advance(100);
    const last = backend.serverTime + PATIENCE + SLACK;
    const setting = watch(backend.clock, semaphore.setLimit(2));
    await backend.clock.advance(1000);
    expect(setting).to.include({ done: true, error: undefined });
    expect(calls).to.have.length(4);
    for (const { call } of calls) expect(call.notAfter).to.be.closeTo(last, 0.01);
  });

  it('are tried again, with what the reply told of the clock', async () => {
    onSetLimit = (index) => reply(index === 0);
    const setting = watch(backend.clock, semaphore.setLimit(2));
    await backend.clock.advance(1000);
    expect(setting).to.include({ done: true, error: undefined });
    expect(calls).to.have.length(2);
    const [, second] = calls;
    const toldAt = backend.serverTime - 1000;
    expect(second?.call.notAfter).to.be.closeTo(toldAt + PATIENCE + SLACK, 0.01);
  });

  it('fail when every try is too late, and say why', async () => {
    onSetLimit = () => reply(true);
    const setting = watch(backend.clock, semaphore.setLimit(2));
    await backend.clock.advance(PATIENCE);
    expect(setting.at).to.equal(PATIENCE);
    expect(setting.error).to.be.instanceOf(BackendError);
    expect(String(setting.error)).to.include('setting the limit failed');
    const { cause } = setting.error as BackendError;
    expect(cause).to.be.an('error').with.property('message', 'the call came too late to act');
  });

  it('make no handle until one try is in time', async () => {
    const adopted: AdoptCall[] = [];
    backend.adopt = async (call) => {
      adopted.push(call);
      const late = adopted.length === 1;
      const ticket = late ? undefined : { slots: [0], fencingToken: 7, before: call.id };
      return { ...reply(late), ticket };
    };
    const data = { name: 'jobs', id: 'other.1', slots: [0], fencingToken: 3 };
    const adopting = watch(backend.clock, semaphore.adopt(data));
    await backend.clock.advance(1000);
    expect(adopted).to.have.length(2);
    expect(adopted[1]?.newId).to.equal(adopted[0]?.newId);
    expect(adopting.value).to.include({ fencingToken: 7, held: true });
    // It has its full ttl at once, so nothing is to be extended before a third of it.
    await backend.clock.advance(8000);
    expect(backend.extends).to.deep.equal([]);
    await backend.clock.advance(1100);
    expect(backend.extends.map(({ call }) => call.ids)).to.deep.equal([[adopted[0]?.newId]]);
    await semaphore.close();
  });
});
