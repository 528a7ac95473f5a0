import { expect } from 'chai';

import { BackendError } from '../../src/index.js';
import { leastRights } from '../support/least-rights.js';
import { errorOf } from '../../test/support/rejection.js';
import { redisScripts } from '../../test/support/redis-scripts.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { timed } from '../support/timed.js';
import { type Fixture, throughBothClients, waysIn } from './fixture.js';

/** Far less than the 5 s of a call. */
const AT_ONCE_MS = 2500;

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
    // Those are questions which the user may be refused: the eviction policy, and the names in use.
    const refusable = ['eviction-policy', 'list-names'];
    // `inspect.lua` hands the command of a page to its function `page`.
    const used = redisScripts
      .filter(({ name }) => !refusable.includes(name))
      .flatMap(({ text }) => [...text.matchAll(/(?:(?<!p)call|page)\('([A-Z]+)'/g)])
      .map(([, command = '']) => `+${command.toLowerCase()}`);
    const listed = leastRights.filter((right) => right.startsWith('+'));
    const others = ['+eval', '+evalsha', '+publish', '+subscribe'];
    expect(listed).to.have.members([...new Set([...used, ...others])]);
  });

  for (const missing of ['+subscribe', '&redsem:inbox:*', '+publish']) {
    test(`suffice by polling alone without ${missing}`, async (fixture) => {
      await allow(without(missing));
      const handle = await (await limited(fixture)).acquire();
      const waiting = (await limited(fixture)).acquire(10_000);
      await fixture.stored.untilQueued(1);
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
        const { value: error, took } = await timed(() => errorOf(call(), BackendError));
        expect(took, String(call)).to.be.below(AT_ONCE_MS);
        expect(String(error.cause)).to.match(/NOPERM|can't run this command|ACL failure/);
        expect(error).to.have.property('semaphore', fixture.name);
        expect(String(error)).to.match(/; grant (it with ACL SETUSER|the user the missing right)/);
      }
      await given.extend();
      await fixture.stored.expectHeldBy([given]);
    });
  }
});
