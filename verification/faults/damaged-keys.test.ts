import { expect } from 'chai';

import { AcquireTimeoutError, BackendError } from '../../src/index.js';
import { eventually } from '../../test/support/eventually.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { keyParts } from '../../test/support/stored-semaphore.js';
import { AT_ONCE_MS, timed } from '../support/timed.js';
import { type Fixture, throughBothClients } from './fixture.js';

/**
 * What the call gives; null where it met a wrong type, or waited in vain. Any other failure is one
 * of the test.
 */
async function unlessWrongType<T>(call: () => Promise<T>): Promise<T | null> {
  return call().catch((error: unknown) => {
    if (error instanceof AcquireTimeoutError) return null;
    expect(error).to.be.instanceOf(BackendError);
    expect(String((error as BackendError).cause)).to.match(/WRONGTYPE/);
    return null;
  });
}

describeWithServer('a semaphore one of whose keys is damaged', (server) => {
  const test = throughBothClients(server);

  /** Limit 3: one permit held by another client, one here, one that was given back. */
  async function prepare(fixture: Fixture) {
    const options = { limit: 3, ttl: 60_000 };
    const [one, other] = [await fixture.semaphore(options), await fixture.semaphore(options)];
    const free = await one.acquire();
    const held = [await other.acquire(), await one.acquire()] as const;
    await free.release();
    return { one, held };
  }

  /**
   * Puts a text where the key is, in one step; what it gives back puts the old value there again.
   */
  async function putWrong(key: string): Promise<() => Promise<unknown>> {
    const keep =
      "if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('RENAME', unpack(KEYS)) end";
    const run = (script: string, ...keys: string[]): Promise<unknown> =>
      server().command('EVAL', script, '2', ...keys);
    await run(`${keep} redis.call('SET', KEYS[1], 'wrong')`, key, `${key}:saved`);
    return () => run(`redis.call('DEL', KEYS[2]) ${keep}`, `${key}:saved`, key);
  }

  for (const part of keyParts) {
    test(`is left whole by calls that meet a wrong ${part}`, async (fixture) => {
      const { one, held } = await prepare(fixture);
      const before = await fixture.stored.dump(part);
      const putRight = await putWrong(fixture.stored.key(part));
      // Where a call has no need of the key it may work, else it is refused at once and changes
      // nothing.
      const { value: tried, took } = await timed(() => unlessWrongType(() => one.tryAcquire()));
      expect(took).to.be.below(AT_ONCE_MS);
      if (tried === null) {
        expect(await fixture.stored.dump(part)).to.deep.equal(before);
      }
      const waited = await unlessWrongType(() => one.acquire(300));
      const taken = [tried, waited].filter((handle) => handle !== null);
      await unlessWrongType(() => held[0].extend());
      await unlessWrongType(() => held[1].release());
      await putRight();
      // What was refused is given back once the key is right again.
      await eventually(async () => {
        expect(await one.inspect()).to.include({ held: 1 + taken.length, waiting: 0 });
      });
      for (const handle of [...taken, held[0]]) expect(await handle.release()).to.equal(true);
      await fixture.expectUsable(one);
    });
  }
});
