import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';

import { BackendError, type Semaphore } from '../../src/index.js';
import * as scripts from '../../src/redis/scripts.js';
import { describeWithServer } from '../../test/support/require-server.js';
import {
  type ClientBench,
  itThroughBothClients,
  newName,
} from '../../test/support/client-bench.js';
import { leastRights } from '../../test/support/least-rights.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { expectUsable } from './usable.js';
import { eventually } from '../../test/support/eventually.js';
import { reasonOf } from '../../test/support/rejection.js';
import { AT_ONCE_MS, timedRejection } from '../support/timed.js';

const login = { username: 'limited', password: 'secret' };

describeWithServer("a user's rights", (server) => {
  async function allow(rights: readonly string[]): Promise<void> {
    const user = ['reset', 'on', `>${login.password}`, 'resetchannels', '-@all', ...rights];
    await server().command('ACL', 'SETUSER', login.username, ...user);
    await server().command('ACL', 'LOG', 'RESET');
  }

  function without(...rights: string[]): readonly string[] {
    return leastRights.filter((right) => !rights.includes(right));
  }

  it('are no more than the scripts and the subscriber use', () => {
    // That one is a question which the user may be refused.
    const used = Object.values(scripts)
      .filter((script) => script !== scripts.evictionScript)
      .flatMap(({ text }) => [...text.matchAll(/(?<!p)call\('([A-Z]+)'/g)])
      .map(([, command = '']) => `+${command.toLowerCase()}`);
    const listed = leastRights.filter((right) => right.startsWith('+'));
    const others = ['+eval', '+evalsha', '+publish', '+subscribe'];
    expect(listed).to.have.members([...new Set([...used, ...others])]);
  });

  itThroughBothClients('suffice for everything when they are the least', async (bench) => {
    await server().command('SCRIPT', 'FLUSH');
    await allow(leastRights);
    await expectAllWorks(bench);
    // A client may ask for more while it connects (INFO, CLIENT SETINFO): that is its own affair.
    expect(await deniedInScripts()).to.deep.equal([]);
  });

  for (const missing of ['+subscribe', '&redsem:inbox:*', '+publish']) {
    itThroughBothClients(`suffice by polling alone without ${missing}`, async (bench) => {
      await allow(without(missing));
      const name = newName();
      const { target } = await bench.connect(server().port, login);
      const others = (await bench.connect(server().port, login)).target;
      const handle = await bench.semaphore(target, name, { limit: 1 }).acquire();
      const waiting = bench.semaphore(others, name, { limit: 1 }).acquire(10_000);
      const stored = new StoredSemaphore(server(), name);
      await eventually(async () => expect(await stored.queue()).to.have.length(1));
      expect(await handle.release()).to.equal(true);
      expect(await (await waiting).release()).to.equal(true);
      await stored.expectEmpty();
    });
  }

  const refusals: Record<string, readonly string[]> = {
    'to run scripts': without('+eval', '+evalsha'),
    'to load scripts': without('+eval'),
    'to the keys': without('~redsem:*').concat('~other:*'),
    'to a command in a script': without('+time'),
  };

  for (const [title, rights] of Object.entries(refusals)) {
    itThroughBothClients(`are named at once when there is none ${title}`, async (bench) => {
      await server().command('SCRIPT', 'FLUSH');
      await allow(rights);
      const { target } = await bench.connect(server().port, login);
      const semaphore = bench.semaphore(target, newName(), { limit: 1 });
      const calls = [
        () => semaphore.acquire(5000),
        () => semaphore.acquire(),
        () => semaphore.tryAcquire(),
      ];
      for (const call of calls) {
        const { took, error } = await timedRejection(call);
        expect(took).to.be.below(AT_ONCE_MS);
        expect(error).to.be.instanceOf(BackendError);
        expect(String((error as BackendError).cause)).to.match(
          /NOPERM|can't run this command|ACL failure/,
        );
      }
    });
  }

  itThroughBothClients('lose no handle when they come back inside its lease', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    await allow(leastRights);
    const { target } = await bench.connect(server().port, login);
    const options = { limit: 1, ttl: 5000, extendEvery: 50 };
    const handle = await bench.semaphore(target, name, options).acquire();
    const change = (rule: string): Promise<unknown> =>
      server().command('ACL', 'SETUSER', login.username, rule);
    await change('-evalsha');
    await sleep(150);
    await change('+evalsha');
    const before = (await stored.tickets())[0]?.expiresAt ?? Infinity;
    await eventually(async () => {
      expect((await stored.tickets())[0]?.expiresAt).to.be.above(before);
    });
    expect(handle.held).to.equal(true);
    expect(await handle.release()).to.equal(true);
  });

  /** Two clients of that user: permits, waiting, extension, loss, and a key put right, each once. */
  async function expectAllWorks(bench: ClientBench): Promise<void> {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const options = { limit: 2, ttl: 10_000, extendEvery: 30 };
    const make = async (): Promise<Semaphore> =>
      bench.semaphore((await bench.connect(server().port, login)).target, name, options);
    const [one, other] = [await make(), await make()];
    const held = [await one.acquire(1000), await one.acquire(1000)];
    const waiting = [other.acquire(10_000), other.acquire(10_000), one.acquire(10_000)];
    await eventually(async () => expect(await stored.queue()).to.have.length(3));
    const timedOut = await reasonOf(other.acquire(20));
    expect(timedOut).to.have.property('code', 'ACQUIRE_TIMEOUT');
    for (const handle of held) await handle.extend();
    // Its withdrawal goes on behind its back.
    await eventually(async () => {
      expect(await one.inspect()).to.deep.include({ held: 2, waiting: 3 });
    });
    for (const handle of held) expect(await handle.release()).to.equal(true);
    const granted = waiting.map(async (wait) => (await wait).release());
    expect(await Promise.all(granted)).to.deep.equal([true, true, true]);
    await stored.expectEmpty();
    const pair = await one.acquire({ permits: 2, timeout: 1000 });
    await server().command('DEL', stored.key('tickets'));
    await eventually(() => expect(pair.held).to.equal(false));
    await expectUsable(one, stored);
    const first = await one.acquire(1000);
    const second = await one.acquire(1000);
    await first.release();
    await server().command('DEL', stored.key('meta'));
    await expectUsable(other, stored);
    await second.release();
  }

  async function deniedInScripts(): Promise<unknown[]> {
    const entries = (await server().command('ACL', 'LOG')) as unknown[][];
    return entries
      .map((entry) => Object.fromEntries(pairs(entry)))
      .filter(({ context }) => context === 'lua')
      .map(({ object }) => object);
  }
});

function pairs(entry: readonly unknown[]): [string, unknown][] {
  return Array.from({ length: entry.length / 2 }, (_, i) => [
    String(entry[2 * i]),
    entry[2 * i + 1],
  ]);
}
