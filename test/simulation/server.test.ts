import { expect } from 'chai';

import type { ExtendReply } from '../../src/index.js';
import { History } from '../../verification/simulation/history.js';
import { ServerClock } from '../../verification/simulation/world/clocks.js';
import { Scheduler } from '../../verification/simulation/world/scheduler.js';
import { SimulatedServer } from '../../verification/simulation/world/server.js';

describe('simulated server', () => {
  it('has the older data only when it goes back twice in a row', async () => {
    const scheduler = new Scheduler();
    const clock = new ServerClock(scheduler, 1);
    const server = new SimulatedServer({ clock, history: new History(), scheduler });
    const common = { key: { prefix: 'redsem', name: 'pool' }, limit: 1, client: 'client' };
    const id = 'client.1';
    const request = { id, permits: 1, wait: false, arrival: undefined };
    const execute = (operation: 'acquire' | 'extend' | 'release', rest: object) =>
      server.execute('p0', operation, { ...common, ...rest }, false);
    const lease = { ttl: 30_000, label: '', notAfter: undefined };

    await execute('acquire', { ...lease, requests: [request] });
    scheduler.now = 1000;
    await execute('release', { ids: [id] });
    scheduler.now = 2000;
    server.goBack(500);
    server.goBack(1500);

    const { extended } = (await execute('extend', { ids: [id], ttl: 30_000 })) as ExtendReply;
    expect(extended, 'the permit that was held by then').to.deep.equal([true]);
  });
});
