import { expect } from 'chai';
import * as fc from 'fast-check';

import {
  Handle,
  type HandleData,
  HandleLostError,
  MemoryBackend,
  Semaphore,
} from '../../src/index.js';
import { ManualClock } from '../../src/time/manual-clock.js';
import { check } from './reproducible.js';

/** Numbers around what is allowed, and what is no number at all. */
const odd: fc.Arbitrary<unknown> = fc.oneof(
  fc.anything(),
  fc.double(),
  fc.constantFrom(undefined, 0, -0, 1, 1.5, 99, 100, 2 ** 31, 2 ** 53, NaN, Infinity, '5', 5n),
);

/** Some of these fields, now and then with something odd in one, or something else altogether. */
function options(fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<unknown> {
  const either = Object.entries(fields).map(([name, usual]) => [
    name,
    fc.oneof({ arbitrary: usual, weight: 6 }, { arbitrary: odd, weight: 1 }),
  ]);
  const record = fc.record(Object.fromEntries(either) as typeof fields, { requiredKeys: [] });
  return fc.oneof({ arbitrary: record, weight: 6 }, { arbitrary: odd, weight: 1 });
}

const between = (min: number, max: number) => fc.integer({ min, max });
const text = (maxLength: number) => fc.string({ unit: 'binary', minLength: 1, maxLength });
const semaphoreOptions = options({
  limit: between(1, 100),
  ttl: between(100, 60_000),
  extendEvery: between(0, 50),
  retry: options({
    min: between(1, 50),
    max: between(50, 500),
    factor: fc.double({ min: 1, max: 3, noNaN: true }),
    jitter: fc.boolean(),
  }),
  prefix: text(30),
  label: text(100),
  rate: options({ permits: between(1, 1000), per: between(1, 100_000), burst: between(1, 9) }),
  clock: fc.constant(undefined),
});
const acquireOptions = options({
  timeout: between(0, 10_000),
  signal: fc.constant(undefined),
  permits: between(1, 5),
});
const handleData = options({
  name: fc.constant('adopt'),
  id: fc.oneof(
    fc.string(),
    fc.stringMatching(/^[\w-]+\.[0-9a-z]+(\.[0-9]+)?(~[\w-]+\.[0-9a-z]+)?$/),
  ),
  slots: fc.array(fc.integer()),
  fencingToken: fc.maxSafeInteger(),
});
/**
 * Any string, also with half of a surrogate pair, which comes back from its bytes as something
 * else.
 */
const names = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 600, size: 'max' }),
  fc.string({ unit: between(0, 0xffff).map((code) => String.fromCharCode(code)) }),
);

describe('random arguments', () => {
  const open = (name: string, given: unknown) => {
    const backend = new MemoryBackend({ clock: new ManualClock() });
    return Reflect.construct(Semaphore, [backend, name, given]) as Semaphore;
  };

  it('of the constructor are refused by name, or make a semaphore that works', async () => {
    const refused =
      /^(name|options|limit|ttl|extendEvery|retry|prefix|label|clock)\b.*: expected .* got |: expected no option of this name /s;
    const property = fc.asyncProperty(names, semaphoreOptions, async (name, given) => {
      for (const [one, its] of [
        ['options', given],
        [name, { limit: 1 }],
      ] as const) {
        const semaphore: unknown = await outcomeOf(() => open(one, its));
        if (!(semaphore instanceof Semaphore)) expectRefusal(semaphore, refused);
        else expect(await (await semaphore.acquire(0)).release()).to.equal(true);
        const bytes = Buffer.from(one);
        const isName = bytes.toString() === one && bytes.length > 0 && bytes.length <= 512;
        if (one === name) expect(semaphore instanceof Semaphore, one).to.equal(isName);
      }
    });
    await check(property, 1500);
  });

  it('of acquire, tryAcquire and setLimit are refused by name, or work', async () => {
    const refused =
      /^(options|timeout|permits|signal|limit)\b.*: expected .*got |: expected no option of this name /s;
    const property = fc.asyncProperty(acquireOptions, async (argument) => {
      const semaphore = open('arguments', { limit: 3 });
      for (const method of ['acquire', 'tryAcquire', 'setLimit'] as const) {
        const outcome = await outcomeOf(() => semaphore[method](argument as never));
        if (outcome instanceof Handle) await outcome.release();
        else if (outcome instanceof Error) expectRefusal(outcome, refused);
        else expect(outcome).to.equal(undefined);
      }
    });
    await check(property, 1500);
  });

  it('of adopt are refused by field, or find no ticket, or continue with one', async () => {
    const property = fc.asyncProperty(handleData, fc.boolean(), async (change, isWhole) => {
      const semaphore = open('adopt', { limit: 5 });
      const holder = await semaphore.acquire({ permits: 2 });
      const data = isWhole ? { ...holder.toJSON(), ...(change as object) } : change;
      const outcome = await outcomeOf(() => semaphore.adopt(data as HandleData));
      if (outcome instanceof Handle) {
        expect([outcome.slots, holder.held]).to.deep.equal([holder.slots, false]);
        expect(outcome.fencingToken).to.be.above(holder.fencingToken);
        expect(await outcome.release()).to.equal(true);
      } else if (outcome instanceof HandleLostError) {
        expect(outcome).to.include({ code: 'HANDLE_LOST', reason: 'missing' });
      } else expectRefusal(outcome, /^ticket(\.(name|id|slots|fencingToken))?: expected .*got /s);
      expect((await semaphore.inspect()).held).to.equal(outcome instanceof Handle ? 0 : 2);
    });
    await check(property, 1500);
  });
});

/** What comes of it, thrown or not. */
async function outcomeOf(call: () => unknown): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    return error;
  }
}

function expectRefusal(error: unknown, message: RegExp): void {
  expect(error instanceof TypeError || error instanceof RangeError, String(error)).to.equal(true);
  expect(error).to.have.property('code', 'INVALID_ARGUMENT');
  expect(error).to.have.property('message').that.matches(message);
}
