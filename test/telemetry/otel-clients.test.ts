import { expect } from 'chai';
import { itThroughBothClients, newName } from '../support/client-bench.js';
import { eventually } from '../support/eventually.js';
import { describeWithServer } from '../support/require-server.js';
import { OtelFixture } from './otel-fixture.js';

describeWithServer('OpenTelemetry with a server', (server) => {
  itThroughBothClients('hears of waits, failures, losses and hand-overs', async (clients) => {
    const name = newName();
    const otel = new OtelFixture(name);
    const { target } = await clients.connect(server().port);
    const sem = clients.semaphore(target, name, { limit: 2, ttl: 3000 });
    const pair = await sem.acquire({ permits: 2 });
    expect(await sem.acquire(0).catch((error: unknown) => error)).to.be.instanceOf(Error);
    expect(await sem.tryAcquire()).to.equal(null);
    const waiting = sem.acquire();
    const failed = { 'failed_requests[AcquireTimeoutError]': 1, refusals: 1 };
    await eventually(async () => {
      const counts = { count: 2, pending_requests: 1, waits: 1, ...failed };
      expect(await otel.counts()).to.deep.equal(counts);
    });
    await pair.release();
    const adopted = await sem.adopt((await waiting).toJSON());
    await sem.revoke(adopted.id);
    await eventually(() => expect(adopted.held).to.equal(false));
    const gone = await sem.acquire();
    await server().command('ZREM', `redsem:{${name}}:tickets`, gone.id);
    await gone.extend().catch(() => undefined);
    const losses = { 'losses[missing]': 2, 'losses[revoked]': 1, reclaims: 3 };
    const counts = { waits: 1, ...failed, ...losses };
    expect(await otel.counts()).to.deep.equal(counts);
    expect(await gone.release()).to.equal(false);
    expect(await otel.counts()).to.deep.equal({ ...counts, overages: 1 });
    const last = await sem.acquire();
    server().pause();
    await eventually(() => expect(last.held).to.equal(false)).finally(() => server().resume());
    const after = await otel.counts();
    expect(after).to.include({ 'losses[expired]': 1, reclaims: 4 });
    expect(
      Object.keys(after).filter((key) => key.startsWith('extension_failures[')),
    ).not.to.deep.equal([]);
    const hold = otel.spans('redsem hold').at(-1);
    expect(hold?.attributes).to.have.property('error.type', 'expired');
    expect(hold?.events[0]).to.have.property('name', 'redsem extension failed');
    expect(otel.spans('redsem acquire')).to.have.length(6);
    await otel.close();
  });
});
