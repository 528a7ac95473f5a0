import { expect } from 'chai';

import { MemoryBackend, type ExtendReply } from '../../src/index.js';
import { History } from '../../verification/simulation/history.js';
import { ServerClock } from '../../verification/simulation/world/clocks.js';
import { Scheduler } from '../../verification/simulation/world/scheduler.js';
import { type OpenStore, SimulatedServer } from '../../verification/simulation/world/server.js';

const ID = 'client.1';
const LEASE = { ttl: 30_000, label: '', notAfter: undefined };
const REQUESTS = [{ id: ID, permits: 1, wait: false, arrival: undefined }];

function start(open?: OpenStore) {
  const scheduler = new Scheduler();
  const clock = new ServerClock(scheduler, 1);
  const server = new SimulatedServer({ clock, history: new History(), scheduler, open });
  const common = { key: { prefix: 'redsem', name: 'pool' }, limit: 1, client: 'client' };
  const execute = (operation: 'acquire' | 'extend' | 'release', rest: object) =>
    server.execute('p0', operation, { ...common, ...rest }, false);
  const extend = async () => {
    const { extended } = (await execute('extend', { ids: [ID], ttl: 30_000 })) as ExtendReply;
    return extended;
  };
  return { scheduler, server, execute, extend };
}

/** Reads the time a while after the call, as where a script has to be sent again. */
const openLate: OpenStore = (clock) => {
  const store = new MemoryBackend({ clock });
  const acquire: typeof store.acquire = async (call) => {
    await new Promise((resolve) => void setImmediate(resolve));
    return MemoryBackend.prototype.acquire.call(store, call);
  };
  return Object.assign(store, { acquire });
};

describe('simulated server', () => {
  it('has the older data only when it goes back twice in a row', async () => {
    const { scheduler, server, execute, extend } = start();

    await execute('acquire', { ...LEASE, requests: REQUESTS });
    scheduler.now = 1000;
    await execute('release', { ids: [ID] });
    scheduler.now = 2000;
    server.goBack(500);
    server.goBack(1500);

    expect(await extend(), 'the permit that was held by then').to.deep.equal([true]);
  });

  it('does older calls again at their own time, also those that read it late', async () => {
    const { scheduler, server, execute, extend } = start(openLate);

    await execute('acquire', { ...LEASE, requests: REQUESTS });
    scheduler.now = 20_000;
    server.goBack(0);
    scheduler.now = 31_000;

    expect(await extend(), 'the permit that expired after 30 s').to.deep.equal([false]);
  });
});
