import { expect } from 'chai';
import { fake } from 'sinon';

import type { AdoptCall, Backend, SetLimitReply } from '../../src/backends/backend.js';
import { firstId } from '../../src/backends/ticket-id.js';
import { BackendError, ClosedError, Semaphore } from '../../src/index.js';
import { errorOf } from '../support/rejection.js';
import { never, StubBackend, watch } from './stub-backend.js';
import { later, stubFixture } from './stub-fixture.js';

/** The longest that a call of an operator takes with all its tries, in milliseconds. */
const PATIENCE = 5000;

/** The message of a holder that hands its ticket over. */
const HANDED_OVER = { name: 'jobs', id: 'other.1', slots: [0], fencingToken: 3 };

describe('setLimit, setRate, adopt and revoke', () => {
  let backend: StubBackend & Backend;
  let semaphore: Semaphore;
  let onSetLimit: () => SetLimitReply | Promise<SetLimitReply>;

  beforeEach(() => {
    backend = new StubBackend();
    // A backend need not know the errors that are worth another try: then all errors are.
    delete backend.isRetryable;
    backend.setLimit = async () => onSetLimit();
    backend.setRate = async () => onSetLimit();
    semaphore = new Semaphore(backend, 'jobs', { limit: 1, ttl: 30_000 });
  });

  it('reject where the backend cannot do it', async () => {
    const { semaphore: plain } = stubFixture();
    for (const [method, call] of [
      ['setLimit', plain.setLimit(2)],
      ['addPermits', plain.addPermits(2)],
      ['adopt', plain.adopt(HANDED_OVER)],
      ['revoke', plain.revoke('other.1')],
    ] as const) {
      const error = await errorOf(call, BackendError);
      expect(String(error)).to.include(`this backend has no ${method}`);
    }
  });

  it('reject with the cause when every try is late or silent', async () => {
    for (const [answer, why] of [
      [() => ({ ...backend.reply, late: true }), /^Error: the call .* after its deadline/],
      [() => never<never>(), /no reply/],
    ] as const) {
      onSetLimit = answer;
      const end = backend.clock.monotonic() + PATIENCE;
      const setting = watch(backend.clock, semaphore.setLimit(2));
      await backend.clock.advance(PATIENCE);
      const { at, error } = setting;
      expect(at).to.equal(end);
      expect(error).to.be.instanceOf(BackendError);
      expect(String(error)).to.include('setting the limit of "jobs" failed');
      expect(String((error as BackendError).cause)).to.match(why);
    }
    await backend.clock.advance(PATIENCE);
    expect(backend.clock.timers).to.equal(0);
  });

  it('make no other try once the semaphore is closed, and leave no timer [P8]', async () => {
    const { clock } = backend;
    let tries = 0;
    onSetLimit = () => {
      tries += 1;
      throw new Error('ECONNREFUSED');
    };
    backend.onInspect = () => Promise.reject(new Error('ECONNREFUSED'));
    const made = [semaphore.setLimit(2), semaphore.setRate(undefined), semaphore.inspect()];
    const calls = made.map((call: Promise<unknown>) => watch(clock, call));
    await clock.advance(20);
    const triesBefore = tries;
    const closing = watch(clock, semaphore.close());
    // The pauses before their next tries end.
    await clock.advance(40);
    expect([closing.done, clock.timers]).to.deep.equal([true, 0]);
    for (const { error } of calls) {
      expect(error).to.be.instanceOf(ClosedError).with.property('message').that.includes('"jobs"');
    }
    await clock.advance(PATIENCE);
    expect(tries).to.equal(triesBefore);
  });

  it('make a handle with its full ttl from the try that is in time', async () => {
    const adopted: AdoptCall[] = [];
    backend.adopt = async (call) => {
      const late = adopted.push(call) === 1;
      const ticket = late
        ? undefined
        : { slots: [0], fencingToken: 7, before: firstId(call.newId) };
      return { ...backend.reply, late, ticket };
    };
    const start = backend.reply.serverTime;
    const adopting = watch(backend.clock, semaphore.adopt(HANDED_OVER));
    await backend.clock.advance(1000);
    expect(adopted).to.have.length(2);
    expect(adopted[1]?.newId).to.equal(adopted[0]?.newId);
    // The first reply shows that clock; two clocks may run 10 ms apart between two replies.
    expect(adopted[0]?.notAfter).to.equal(undefined);
    expect(adopted[1]?.notAfter).to.be.closeTo(start + PATIENCE + 10, 0.01);
    expect(adopting.value).to.include({ fencingToken: 7, held: true });
    await backend.clock.advance(9100);
    expect(backend.extends).to.have.length(1);
    expect(backend.extends[0]?.at).to.be.at.least(10_000);
    expect(backend.extends[0]?.call.ids).to.deep.equal([adopted[0]?.newId]);
    await semaphore.close();
  });
});

for (const silent of [true, false]) {
  it(`close beside an adopt ${silent ? 'ends after 5 s where that is silent' : 'waits until its ticket is given back'}`, async () => {
    const [adopted, released] = [later<void>(), later<void>()];
    const backend = Object.assign(new StubBackend(), {
      adopt: async ({ newId }: AdoptCall) => {
        await adopted.promise;
        return {
          ...backend.reply,
          ticket: { slots: [0], fencingToken: 7, before: firstId(newId) },
        };
      },
    });
    backend.onRelease = (call) => released.promise.then(() => backend.released(call));
    const { clock, semaphore } = stubFixture({}, backend);
    const adopting = watch(clock, semaphore.adopt(HANDED_OVER));
    await clock.advance(0);
    const closing = watch(clock, semaphore.close());
    await clock.advance(PATIENCE - 1);
    expect([closing.done, backend.givenBack]).to.deep.equal([false, []]);
    if (!silent) {
      adopted.resolve();
      await clock.advance(0);
      expect(adopting.error).to.be.instanceOf(ClosedError);
      expect([closing.done, backend.givenBack.length]).to.deep.equal([false, 1]);
      released.resolve();
    }
    await clock.advance(silent ? 1 : 0);
    expect([closing.done, closing.error, clock.timers]).to.deep.equal([true, undefined, 0]);
  });
}

describe('warnings of a semaphore', () => {
  for (const [what, look, expected] of [
    ['a hazard', async () => 'it may evict', ['it may evict']],
    ['nothing where the look fails', () => Promise.reject(new Error('NOPERM')), []],
    ['nothing where the backend cannot look', undefined, []],
  ] as const) {
    it(`are of ${what}: the semaphore looks once, and listens from its first listener until its close [P8]`, async () => {
      const [findHazard, end] = [fake(async (): Promise<string | undefined> => look?.()), fake()];
      const onHazard = fake.returns(end);
      const backend = Object.assign(new StubBackend(), { onHazard }, look && { findHazard });
      const counts = async (): Promise<number[]> => {
        await backend.clock.advance(0);
        return [findHazard, onHazard, end].map(({ callCount }) => callCount);
      };
      const [semaphore, other] = [1, 2].map(() => new Semaphore(backend, 'jobs', { limit: 1 }));
      expect(await counts()).to.deep.equal([0, 0, 0]);
      const warnings: unknown[] = [];
      semaphore?.on('warning', (warning) => warnings.push(warning)).on('warning', () => {});
      const looks = look === undefined ? 0 : 1;
      expect(await counts()).to.deep.equal([looks, 1, 0]);
      expect(warnings).to.deep.equal(expected.map((message) => ({ code: 'EVICTION', message })));
      for (const each of [semaphore, other]) {
        await each?.close();
        each?.on('warning', () => {});
      }
      expect(await counts()).to.deep.equal([looks, 1, 1]);
    });
  }

  it('are of another limit once, also after setLimit', async () => {
    const backend = Object.assign(new StubBackend(), {
      setLimit: async () => backend.reply,
    });
    const { clock, semaphore } = stubFixture({ limit: 4 }, backend);
    const warnings: string[] = [];
    semaphore.on('warning', ({ message }) => warnings.push(message));
    const useTwice = async (otherLimit: number): Promise<void> => {
      backend.onAcquire = (call) => ({ ...backend.allGranted(call), otherLimit });
      await semaphore.use(() => undefined);
      await semaphore.use(() => undefined);
    };
    await useTwice(5);
    await semaphore.setLimit(6);
    await useTwice(7);
    await clock.advance(0);
    const others = warnings.map((message) => /and (\d) elsewhere/.exec(message)?.[1]);
    expect(others).to.deep.equal(['5']);
  });
});
