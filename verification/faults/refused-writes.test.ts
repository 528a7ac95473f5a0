import { expect } from 'chai';

import { BackendError } from '../../src/index.js';
import { eventually } from '../../test/support/eventually.js';
import { leastRights } from '../../test/support/least-rights.js';
import { reasonOf } from '../../test/support/rejection.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { lossesOf, throughBothClients } from './fixture.js';

describeWithServer('a server that refuses to write for a while', (server) => {
  const test = throughBothClients(server);

  test('gets back what was given back, and keeps what is held, when rights were away', async (fixture) => {
    const login = { username: 'sometimes', password: 'secret' };
    const change = (...rules: string[]): Promise<unknown> =>
      server().command('ACL', 'SETUSER', login.username, ...rules);
    await change('reset', 'on', `>${login.password}`, ...leastRights);
    const semaphore = await fixture.semaphore({ limit: 3, extendEvery: 50 }, server().port, login);
    const warnings: string[] = [];
    semaphore.on('warning', ({ code }) => warnings.push(code));
    const [kept, handle] = [await semaphore.acquire(), await semaphore.acquire()];
    const losses = lossesOf(kept);
    expect(await semaphore.use(() => change('-evalsha', '-eval').then(() => 7))).to.equal(7);
    const refused = await reasonOf(handle.release());
    expect(refused).to.be.instanceOf(BackendError).and.include({ semaphore: fixture.name });
    expect(String(refused)).to.match(/grant it with ACL SETUSER (sometimes|USER) \+evalsha /);
    await eventually(() => expect(warnings).to.deep.equal(['RELEASE_FAILED']));
    expect(await fixture.stored.tickets()).to.have.length(3);
    await change('+evalsha', '+eval');
    await fixture.stored.expectHeldBy([kept]);
    await fixture.untilExtended();
    expect(losses).to.deep.equal([]);
    expect(await kept.release()).to.equal(true);
    await fixture.expectUsable(semaphore);
  });
});
