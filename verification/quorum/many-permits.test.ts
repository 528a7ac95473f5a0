import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
import { describeWithMasters } from '../../test/quorum/servers.js';

const PERMITS = 5000;

describeWithMasters('many permits on a quorum', 3, (masters) => {
  for (const kind of ['redis', 'ioredis'] as const) {
    it(`are taken, told, extended and given back as one ticket, over ${kind}`, async () => {
      const clients = await masters().connect(kind);
      const options = { limit: 2 * PERMITS, ttl: 30_000 };
      const semaphore = new Semaphore(clients, `many-${kind}`, options);
      const handle = await semaphore.acquire({ permits: PERMITS, timeout: 20_000 });
      const small = await semaphore.acquire(20_000);
      await handle.extend();
      const { held, holders } = await semaphore.inspect();
      expect(held).to.equal(PERMITS + 1);
      expect(holders.map(({ slots }) => slots.length)).to.deep.equal([PERMITS, 1]);
      expect(small.slot).to.equal(PERMITS);
      expect(await handle.release()).to.equal(true);
      expect((await semaphore.inspect()).held).to.equal(1);
      await small.release();
      await semaphore.close();
    });
  }
});
