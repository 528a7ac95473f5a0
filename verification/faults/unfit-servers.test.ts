import { expect } from 'chai';

import type { HandleLostError, RedisConnection, Semaphore } from '../../src/index.js';
import { BackendError } from '../../src/index.js';
import { describeWithServer } from '../../test/support/require-server.js';
import {
  type ClientBench,
  itThroughBothClients,
  newName,
} from '../../test/support/client-bench.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { reasonOf } from '../../test/support/rejection.js';

/** What other servers do, put into the text of each script: `[what we have, what they would do]`. */
type Patch = readonly [string, string];

const TIME = "call('TIME')";

interface Unfit {
  readonly patch: Patch;
  readonly says: RegExp;
}

const OLD: Unfit = {
  patch: ["'ZMSCORE'", "'ZNOSCORE'"],
  says: /does not know a command .*Unknown (?:Redis |Redict )?command called from/,
};

const UNFIT: Readonly<Record<string, Unfit>> = {
  'is older than Redis 6.2': OLD,
  'allows scripts no TIME': {
    patch: [TIME, "call('SUBSCRIBE', 'x')"],
    says: /allows scripts too few commands .*not allowed from script/,
  },
  'has a time of zero': {
    patch: [TIME, "({ '0', '0' })"],
    says: /the time that it gives to scripts is 0000000/,
  },
  'has a time that is long past': {
    patch: [TIME, "({ '1000000000', '000000' })"],
    says: /the time that it gives to scripts is 1000000000000000/,
  },
  'has a time of numbers': {
    patch: [TIME, '({ 1790000000, 123456 })'],
    says: /the time that it gives to scripts is a number/,
  },
  'has a time that stands still': {
    patch: [TIME, "({ '4000000000', '123456' })"],
    says: /the time that it gives to scripts stands still at 4000000000123\.456/,
  },
};

/** Sends the text each time, changed. */
function patched(real: RedisConnection, patches: readonly Patch[]): RedisConnection {
  return {
    runBySha: () => Promise.reject(new Error('NOSCRIPT')),
    runByText: (text, keys, args) => {
      const changed = patches.reduce((old, [from, to]) => old.replaceAll(from, to), text);
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
  async function connect(bench: ClientBench, patches: Patch[]): Promise<RedisConnection> {
    return patched((await bench.connect(server().port)).connection, patches);
  }

  /** Each is refused with an error that names what is needed, and leaves nothing behind. */
  async function expectRefused(semaphore: Semaphore, says: RegExp): Promise<void> {
    const calls = [
      () => semaphore.acquire(),
      () => semaphore.acquire({ permits: 2, timeout: 20_000 }),
      () => semaphore.acquire(0),
      () => semaphore.tryAcquire(),
    ];
    for (const call of calls) {
      const error = await reasonOf(call());
      expect(error).to.be.instanceOf(BackendError);
      expect(String(error))
        .to.match(/Redis 6\.2 or newer, or Valkey/)
        .and.match(says);
    }
  }

  for (const [title, { patch, says }] of Object.entries(UNFIT)) {
    itThroughBothClients(`is named at the first call where it ${title}`, async (bench) => {
      const name = newName();
      const target = await connect(bench, [patch]);
      const semaphore = bench.semaphore(target, name, { limit: 3 });
      await expectRefused(semaphore, says);
      const ticket = { id: 'a-b.1', name, slots: [0], fencingToken: 1, expiresAt: 0 };
      expect(String(await reasonOf(semaphore.adopt(ticket)))).to.match(says);
      await semaphore.close();
      const { holders, waiters } = await bench
        .semaphore((await bench.connect(server().port)).target, name, { limit: 3 })
        .inspect();
      expect({ holders, waiters }).to.deep.equal({ holders: [], waiters: [] });
    });
  }

  itThroughBothClients('gives no permit to a quorum where it is a majority', async (bench) => {
    for (const { patch, says } of Object.values(UNFIT)) {
      const nodes = [await connect(bench, []), await connect(bench, [patch])];
      nodes.push(await connect(bench, [patch]));
      const semaphore = bench.semaphore(nodes.map(withOwnKeys), newName(), { limit: 3 });
      await expectRefused(semaphore, says);
      await semaphore.close();
    }
  });

  itThroughBothClients('is named by extend()', async (bench) => {
    const patches: Patch[] = [];
    const target = await connect(bench, patches);
    const semaphore = bench.semaphore(target, newName(), { limit: 1, extendEvery: 0 });
    const handle = await semaphore.acquire();
    patches.push(OLD.patch);
    const error = await reasonOf(handle.extend());
    expect(error).to.be.instanceOf(BackendError);
    expect(String(error)).to.match(/Redis 6\.2 or newer, or Valkey/);
  });

  itThroughBothClients('is named at the first extension of what is held', async (bench) => {
    const name = newName();
    const patches: Patch[] = [];
    const target = await connect(bench, patches);
    const semaphore = bench.semaphore(target, name, { limit: 1, ttl: 9000, extendEvery: 20 });
    const handle = await semaphore.acquire();
    await handle.extend();
    const lost = new Promise<HandleLostError>((resolve) => void handle.once('lost', resolve));
    // From now on an older server answers.
    patches.push(OLD.patch);
    const error = await lost;
    expect(error).to.have.property('reason', 'expired');
    expect(error.cause).to.be.instanceOf(BackendError);
    expect(String(error.cause)).to.match(/Redis 6\.2 or newer, or Valkey/);
    // Its holder knows in time: nobody else has the permit yet.
    expect(await new StoredSemaphore(server(), name).tickets()).to.have.length(1);
  });
});
