import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';

import type { SemaphoreWarning } from '../../src/index.js';
import { eventually } from '../../test/support/eventually.js';
import { reasonOf } from '../../test/support/rejection.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { LATE_MS, timed } from '../support/timed.js';
import { throughBothClients } from './fixture.js';

const ttl = 1000;

describeWithServer('a server that hangs', (server) => {
  const test = throughBothClients(server);

  afterEach('let the server continue', () => server().resume());

  test('keeps close no longer than min(ttl, 5000)', async (fixture) => {
    const semaphore = await fixture.semaphore({ ttl });
    const handle = await semaphore.acquire();
    const waiting = reasonOf(semaphore.acquire());
    await fixture.untilQueued(1);
    server().pause();
    const { took } = await timed(() => semaphore.close());
    expect(took).to.be.at.most(ttl + LATE_MS);
    expect(await waiting).to.have.property('code', 'CLOSED');
    expect(handle.held).to.equal(false);
    server().resume();
    await fixture.stored.expectEmpty();
  });

  test('is one warning where somebody waits without a timeout', async (fixture) => {
    const semaphore = await fixture.semaphore({ ttl });
    const warnings: SemaphoreWarning[] = [];
    semaphore.on('warning', (warning) => warnings.push(warning));
    const handle = await semaphore.acquire();
    const waiting = semaphore.acquire();
    await fixture.untilQueued(1);
    server().pause();
    await eventually(() => expect(warnings).to.have.length(1));
    expect(warnings[0]?.code).to.equal('BACKEND_UNREACHABLE');
    expect(warnings[0]?.message).to.match(/^cannot reach Redis: .*last error: no reply within/);
    server().resume();
    await handle.release();
    expect(await (await waiting).release()).to.equal(true);
    expect(warnings).to.have.length(1);
  });

  test('takes no permit that was handed over just before', async (fixture) => {
    const first = await (await fixture.semaphore()).acquire();
    const waiting = (await fixture.semaphore()).acquire();
    await fixture.stored.expectListening();
    expect(await first.release()).to.equal(true);
    const handle = await waiting;
    // Before it is claimed, and for less than the claim time of 5 s.
    server().pause();
    await sleep(2500);
    expect(handle.held).to.equal(true);
    server().resume();
    await eventually(() => expect(handle.expiresIn).to.be.above(20_000));
    expect(await handle.release()).to.equal(true);
  });
});
