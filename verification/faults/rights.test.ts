import { expect } from 'chai';

import { BackendError } from '../../src/index.js';
import * as scripts from '../../src/backends/redis/scripts.js';
import { eventually } from '../../test/support/eventually.js';
import { leastRights } from '../../test/support/least-rights.js';
import { reasonOf } from '../../test/support/rejection.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { AT_ONCE_MS, timedRejection } from '../support/timed.js';
import { type Fixture, throughBothClients, waysIn } from './fixture.js';

const login = { username: 'limited', password: 'secret' };

describeWithServer("a user's rights", (server) => {
  const test = throughBothClients(server);

  async function allow(rights: readonly string[]): Promise<void> {
    const user = ['reset', 'on', `>${login.password}`, 'resetchannels', '-@all', ...rights];
    await server().command('ACL', 'SETUSER', login.username, ...user);
    await server().command('ACL', 'LOG', 'RESET');
  }

  function without(...rights: string[]): readonly string[] {
    return leastRights.filter((right) => !rights.includes(right));
  }

  function limited(fixture: Fixture, options = {}) {
    return fixture.semaphore(options, server().port, login);
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

  test('suffice for everything when they are the least', async (fixture) => {
    await server().command('SCRIPT', 'FLUSH');
    await allow(leastRights);
    const options = { limit: 2, ttl: 10_000, extendEvery: 30 };
    const [one, other] = [await limited(fixture, options), await limited(fixture, options)];
    const held = [await one.acquire(1000), await one.acquire(1000)];
    const waiting = [other.acquire(10_000), other.acquire(10_000), one.acquire(10_000)];
    await fixture.untilQueued(3);
    expect(await reasonOf(other.acquire(20))).to.have.property('code', 'ACQUIRE_TIMEOUT');
    for (const handle of held) await handle.extend();
    // Its withdrawal goes on behind its back.
    await fixture.untilQueued(3);
    expect(await one.inspect()).to.deep.include({ held: 2, waiting: 3 });
    for (const handle of held) expect(await handle.release()).to.equal(true);
    for (const wait of waiting) expect(await (await wait).release()).to.equal(true);
    // A key that is gone is put right.
    const pair = await one.acquire({ permits: 2, timeout: 1000 });
    await server().command('DEL', fixture.stored.key('tickets'));
    await eventually(() => expect(pair.held).to.equal(false));
    await fixture.expectUsable(one);
    const [first, second] = [await one.acquire(1000), await one.acquire(1000)];
    await first.release();
    await server().command('DEL', fixture.stored.key('meta'));
    await fixture.expectUsable(other);
    await second.release();
    // What operators do.
    const ticket = await one.acquire(1000);
    await one.setLimit(3);
    const adopted = await other.adopt(ticket.toJSON());
    expect(await one.revoke(adopted.id)).to.equal(true);
    expect(await one.tryUse(({ slot }) => slot)).to.deep.equal({ ran: true, result: 0 });
    // A client may ask for more while it connects (INFO, CLIENT SETINFO): that is its own affair.
    expect(String(await server().command('ACL', 'LOG')).split(',')).to.not.include('lua');
    await fixture.stored.expectEmpty();
  });

  for (const missing of ['+subscribe', '&redsem:inbox:*', '+publish']) {
    test(`suffice by polling alone without ${missing}`, async (fixture) => {
      await allow(without(missing));
      const handle = await (await limited(fixture)).acquire();
      const waiting = (await limited(fixture)).acquire(10_000);
      await fixture.untilQueued(1);
      expect(await handle.release()).to.equal(true);
      expect(await (await waiting).release()).to.equal(true);
      await fixture.stored.expectEmpty();
    });
  }

  for (const [title, rights] of [
    ['to run scripts', without('+eval', '+evalsha')],
    ['to load scripts', without('+eval')],
    ['to the keys', [...without('~redsem:*'), '~other:*']],
    ['to a command in a script', without('+time')],
    ['to a command that reads', without('+hget', '+hmget')],
  ] as const) {
    test(`are named at once when there is none ${title}`, async (fixture) => {
      const given = await (await fixture.semaphore({ limit: 2 })).acquire();
      await server().command('SCRIPT', 'FLUSH');
      await allow(rights);
      const semaphore = await limited(fixture, { limit: 2 });
      const calls = [
        ...waysIn(semaphore),
        () => semaphore.setLimit(3),
        () => semaphore.adopt(given.toJSON()),
        () => semaphore.revoke(given.id),
      ];
      for (const call of calls) {
        const { took, error } = await timedRejection(call);
        expect(took, String(call)).to.be.below(AT_ONCE_MS);
        expect(error).to.be.instanceOf(BackendError);
        expect(String((error as BackendError).cause)).to.match(
          /NOPERM|can't run this command|ACL failure/,
        );
      }
      await given.extend();
      await fixture.stored.expectHeldBy([given]);
    });
  }
});
