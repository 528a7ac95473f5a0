import { expect } from 'chai';

import type { RedisConnection, Semaphore } from '../../src/index.js';
import { BackendError } from '../../src/index.js';
import { connectionTo } from '../../test/support/open-client.js';
import { errorOf } from '../../test/support/rejection.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { type Fixture, throughBothClients, waysIn } from './fixture.js';

interface Unfit {
  /** In each script, the text that is replaced, and its replacement. */
  readonly patch: readonly [have: string | RegExp, would: string];
  readonly says: RegExp;
}

function withTime(would: string, says: RegExp): Unfit {
  return { patch: [/(?:redis\.)?call\('TIME'\)/g, would], says };
}

const UNFIT: Readonly<Record<string, Unfit>> = {
  'is older than Redis 6.2': {
    patch: ["'ZMSCORE'", "'ZNOSCORE'"],
    says: /does not know a command .*Unknown (?:Redis |Redict )?command called from/,
  },
  'allows scripts no TIME': withTime(
    "redis.call('SUBSCRIBE', 'x')",
    /too few .*not allowed from script/,
  ),
  'has a time of zero': withTime("({ '0', '0' })", /time .* is 0000000/),
  'has a time that is long past': withTime("({ '1000000000', '000000' })", /time .* is 10{15}/),
  'has a time of numbers': withTime('({ 1790000000, 123456 })', /time .* is a number/),
  'has a time that has stopped': withTime(
    "({ '4000000000', '123456' })",
    /has stopped at 4000000000123456/,
  ),
};

const NEEDED = /Redis 6\.2 or newer, or Valkey/;

/** Sends the text each time, with every patch. */
function patched(real: RedisConnection, unfit: readonly Unfit[]): RedisConnection {
  return {
    runBySha: () => Promise.reject(new Error('NOSCRIPT')),
    runByText: (text, keys, args) => {
      const changed = unfit.reduce((old, { patch }) => old.replaceAll(...patch), text);
      return real.runByText(changed, keys, args);
    },
  };
}

/** Of nodes that are one server in truth. */
function withOwnKeys(real: RedisConnection, node: number): RedisConnection {
  const own = (keys: readonly string[]) => keys.map((key) => `${key}-${node}`);
  return {
    runBySha: (sha1, keys, args) => real.runBySha(sha1, own(keys), args),
    runByText: (text, keys, args) => real.runByText(text, own(keys), args),
  };
}

describeWithServer('a server that cannot keep the promises', (server) => {
  const test = throughBothClients(server);

  async function connect(fixture: Fixture, unfit: readonly Unfit[]) {
    const { target } = await fixture.clients.connect(server().port);
    return patched(connectionTo(target), unfit);
  }

  /** Every call is refused with an error that names the missing property. */
  async function expectRefused(semaphore: Semaphore, says: RegExp): Promise<void> {
    const many = (): Promise<unknown> => semaphore.acquire({ permits: 2 });
    for (const call of [many, ...waysIn(semaphore)]) {
      const error = await errorOf<Error>(call(), BackendError);
      expect(error.message).to.match(NEEDED).and.match(says);
    }
  }

  for (const [title, unfit] of Object.entries(UNFIT)) {
    test(`is named at the first call where it ${title}`, async (fixture) => {
      const semaphore = fixture.over(await connect(fixture, [unfit]), { limit: 3 });
      await expectRefused(semaphore, unfit.says);
      const ticket = { id: 'a-b.1', name: fixture.name, slots: [0], fencingToken: 1, expiresAt: 0 };
      const error = await errorOf<Error>(semaphore.adopt(ticket), BackendError);
      expect(error.message).to.match(unfit.says);
      await semaphore.close();
      expect(await (await fixture.semaphore()).inspect()).to.include({ held: 0, waiting: 0 });
    });
  }

  test('gives no permit to a quorum where it is a majority', async (fixture) => {
    for (const unfit of Object.values(UNFIT)) {
      const nodes = [[], [unfit], [unfit]].map((each) => connect(fixture, each));
      const connections = (await Promise.all(nodes)).map(withOwnKeys);
      const semaphore = fixture.clients.semaphore(connections, fixture.name, { limit: 3 });
      await expectRefused(semaphore, unfit.says);
      await semaphore.close();
    }
  });
});
