import { expect } from 'chai';
import * as fc from 'fast-check';

import { Handle, type HandleData, MemoryBackend, Semaphore } from '../../src/index.js';
import { ManualClock } from '../../src/manual-clock.js';
import { check } from './reproducible.js';

/** Numbers around what is allowed, and what is no number at all. */
const odd: fc.Arbitrary<unknown> = fc.oneof(
  fc.anything(),
  fc.double(),
  fc.constantFrom(undefined, 0, -0, 1, 1.5, 99, 100, 2 ** 31, 2 ** 53, NaN, Infinity, '5', 5n),
);

function maybeOdd(usual: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.oneof({ arbitrary: usual, weight: 6 }, { arbitrary: odd, weight: 1 });
}

const limit = fc.integer({ min: 1, max: 100 });
const retry = fc.record(
  {
    min: maybeOdd(fc.integer({ min: 1, max: 50 })),
    max: maybeOdd(fc.integer({ min: 50, max: 500 })),
    factor: maybeOdd(fc.double({ min: 1, max: 3, noNaN: true })),
    jitter: maybeOdd(fc.boolean()),
  },
  { requiredKeys: [] },
);
const semaphoreOptions = fc.record(
  {
    limit: maybeOdd(limit),
    ttl: maybeOdd(fc.integer({ min: 100, max: 60_000 })),
    extendEvery: maybeOdd(fc.integer({ min: 0, max: 50 })),
    retry: maybeOdd(retry),
    prefix: maybeOdd(fc.string({ unit: 'binary', minLength: 1, maxLength: 30 })),
    label: maybeOdd(fc.string({ unit: 'binary', maxLength: 100 })),
    clock: maybeOdd(fc.constant(undefined)),
  },
  { requiredKeys: [] },
);
const acquireOptions = fc.record(
  {
    timeout: maybeOdd(fc.integer({ min: 0, max: 10_000 })),
    signal: maybeOdd(fc.constant(undefined)),
    permits: maybeOdd(fc.integer({ min: 1, max: 5 })),
  },
  { requiredKeys: [] },
);
const REFUSED = /^(options|limit|ttl|extendEvery|retry|prefix|label|clock)\b.*: expected .* got /s;

describe('random arguments', () => {
  it('of the constructor are refused by name, or make a semaphore that works', async () => {
    const given = fc.oneof(
      { arbitrary: semaphoreOptions, weight: 9 },
      { arbitrary: odd, weight: 1 },
    );
    const property = fc.asyncProperty(given, async (options) => {
      const backend = new MemoryBackend({ clock: new ManualClock() });
      let semaphore: Semaphore;
      try {
        semaphore = Reflect.construct(Semaphore, [backend, 'options', options]) as Semaphore;
      } catch (error) {
        return expectRefusal(error, REFUSED);
      }
      const handle = await semaphore.acquire(0);
      expect(handle.held).to.equal(true);
      expect(await handle.release()).to.equal(true);
      await semaphore.close();
    });
    await check(property, 1500);
  });

  it('of acquire, tryAcquire and setLimit are refused by name, or work', async () => {
    const given = fc.oneof({ arbitrary: acquireOptions, weight: 5 }, { arbitrary: odd, weight: 2 });
    const property = fc.asyncProperty(given, async (argument) => {
      const backend = new MemoryBackend({ clock: new ManualClock() });
      const semaphore = new Semaphore(backend, 'arguments', { limit: 3 });
      const names = /^(options|timeout|permits|signal|limit)\b.*: expected .*got /s;
      for (const method of ['acquire', 'tryAcquire', 'setLimit'] as const) {
        const outcome: unknown = await call(semaphore, method, argument);
        if (outcome instanceof Handle) await outcome.release();
        else if (outcome instanceof Error) expectRefusal(outcome, names);
        else expect(outcome).to.equal(undefined);
      }
      await semaphore.close();
    });
    await check(property, 1500);
  });

  it('of adopt are refused by field, or find no ticket, or go on with one', async () => {
    const property = fc.asyncProperty(handleData(), async (change) => {
      const backend = new MemoryBackend({ clock: new ManualClock() });
      const semaphore = new Semaphore(backend, 'adopt', { limit: 5 });
      const holder = await semaphore.acquire({ permits: 2 });
      const data = change(holder.toJSON());
      const outcome: unknown = await call(semaphore, 'adopt', data);
      if (outcome instanceof Handle) {
        expect(outcome.slots).to.deep.equal(holder.slots);
        expect(outcome.fencingToken).to.be.above(holder.fencingToken);
        expect(holder.held).to.equal(false);
        expect(await outcome.release()).to.equal(true);
      } else if (outcome instanceof Error && 'code' in outcome) {
        expect(outcome).to.include({ code: 'HANDLE_LOST', reason: 'missing' });
      } else expectRefusal(outcome, /^ticket(\.(name|id|slots|fencingToken))?: expected .*got /s);
      const untouched = outcome instanceof Handle ? 0 : 2;
      expect((await semaphore.inspect()).held).to.equal(untouched);
      await semaphore.close();
    });
    await check(property, 1500);
  });
});

/** The data of a handle with something else in it, or something else altogether. */
function handleData(): fc.Arbitrary<(data: HandleData) => unknown> {
  const ids = fc.oneof(
    fc.string(),
    fc.stringMatching(/^[\w-]+\.[0-9a-z]+(\.[0-9]+)?(~[\w-]+\.[0-9a-z]+)?$/),
  );
  const fields = fc.record(
    {
      name: maybeOdd(fc.constant('adopt')),
      id: maybeOdd(ids),
      slots: maybeOdd(fc.array(fc.integer())),
      fencingToken: maybeOdd(fc.maxSafeInteger()),
    },
    { requiredKeys: [] },
  );
  return fc.oneof(
    fields.map((other) => (data: HandleData) => ({ ...data, ...other })),
    odd.map((other) => () => other),
    fc.constant((data: HandleData) => data),
  );
}

/** What comes of it, thrown or not. */
async function call(semaphore: Semaphore, method: string, argument: unknown): Promise<unknown> {
  try {
    const run: unknown = Reflect.get(semaphore, method);
    if (typeof run !== 'function') throw new Error(`no ${method}`);
    return await Reflect.apply(run, semaphore, [argument]);
  } catch (error) {
    return error;
  }
}

function expectRefusal(error: unknown, message: RegExp): void {
  expect(error instanceof TypeError || error instanceof RangeError, String(error)).to.equal(true);
  expect(error).to.have.property('message').that.matches(message);
}
