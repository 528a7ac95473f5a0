import { expect } from 'chai';

import { NAME } from '../semaphore-name.js';
import { faultKindsOf, startTopology } from '../topologies/catalog.js';
import { connect } from '../topologies/connect.js';
import { networkKinds } from '../topologies/proxy-faults.js';
import { moveSlot } from '../topologies/slot-move.js';
import type { Address, Connection, Topology } from '../topologies/topology.js';
import { AcquireTimeoutError, Semaphore } from '../../../src/index.js';
import { noServer } from '../../../test/support/require-server.js';
import { describeWithCluster } from '../../../test/support/require-topology.js';
import { eventually } from '../../../test/support/eventually.js';
import { reasonOf } from '../../../test/support/rejection.js';

const missing = noServer();
const options = { limit: 1, ttl: 2000 };

for (const name of ['cluster', 'sentinel'] as const) {
  const title = `network faults of a ${name}`;
  const body = (): void => strikeWorkers(name);
  if (missing === undefined) describe(title, body);
  else describe.skip(`${title} (skipped: no ${missing} on this machine)`, body);
}

function strikeWorkers(name: 'cluster' | 'sentinel'): void {
  let topology: Topology;
  let connections: Connection[];

  before('start the servers', async () => {
    topology = await startTopology(name);
  });

  after('stop the servers', () => topology.stop());

  beforeEach(() => {
    connections = [];
  });

  afterEach('close the clients', async () => {
    for (const connection of connections) await connection.close();
  });

  async function semaphoreOf(address: Address): Promise<Semaphore> {
    const connection = await connect(address);
    connections.push(connection);
    return new Semaphore(connection.target, NAME, options);
  }

  it('are planned', () => {
    expect(faultKindsOf(name)).to.include.members([...networkKinds]);
  });

  for (const [struck, client] of ['redis', 'ioredis'].entries()) {
    it(`strike the way of one worker to every server, and no other's, by ${client}`, async () => {
      const here = await semaphoreOf(topology.addressOf(struck));
      const others = [
        await semaphoreOf(topology.addressOf(1 - struck)),
        await semaphoreOf(topology.observerAddress),
      ];
      for (const semaphore of [here, ...others]) await pass(semaphore);
      const fault = { at: 0, kind: 'hang', lasts: 0, workers: [struck] } as const;
      const undo = await topology.inject(fault, NAME);
      expect(await reasonOf(here.acquire(500))).to.be.instanceOf(AcquireTimeoutError);
      for (const semaphore of others) await pass(semaphore);
      await undo?.();
      await pass(here);
      for (const semaphore of [here, ...others]) await semaphore.close();
    });
  }

  it('cut connections, which are made again on the same way', async () => {
    const semaphores = [
      await semaphoreOf(topology.addressOf(0)),
      await semaphoreOf(topology.addressOf(1)),
    ];
    for (const semaphore of semaphores) await pass(semaphore);
    expect(await topology.inject({ at: 0, kind: 'cut', lasts: 0 }, NAME)).to.equal(undefined);
    for (const semaphore of semaphores) await pass(semaphore);
    const undo = await topology.inject({ at: 0, kind: 'hang', lasts: 0 }, NAME);
    for (const semaphore of semaphores) {
      expect(await reasonOf(semaphore.acquire(500))).to.be.instanceOf(AcquireTimeoutError);
    }
    await undo?.();
    for (const semaphore of semaphores) {
      await pass(semaphore);
      await semaphore.close();
    }
  });
}

/** Takes the permit and gives it back. */
async function pass(semaphore: Semaphore): Promise<void> {
  const handle = await eventually(() => semaphore.acquire(2000));
  expect(await handle.release()).to.equal(true);
}

describeWithCluster('a moved slot of a chaos run', (cluster) => {
  it('is served by neither end meanwhile, then by the other one with all its keys', async () => {
    const { addresses } = cluster();
    const ports = addresses.map(({ port }) => port);
    const connection = await connect({ topology: 'cluster', client: 'redis', ports });
    const semaphore = new Semaphore(connection.target, NAME, { limit: 2, ttl: 10_000 });
    try {
      const slot = await cluster().slotOf(`redsem:{${NAME}}:tickets`);
      const from = await cluster().masterOf(slot);
      const handle = await semaphore.acquire(5000);
      for (const after of ['to', 'and fro']) {
        const before = await cluster().masterOf(slot);
        const finish = await moveSlot(cluster(), slot);
        expect(await reasonOf(semaphore.acquire(300))).to.be.instanceOf(AcquireTimeoutError);
        await finish();
        const now = await cluster().masterOf(slot);
        expect(now, after).to.not.equal(before);
        expect(await cluster().keysIn(before, slot)).to.deep.equal([]);
        await handle.extend();
      }
      expect(await cluster().masterOf(slot)).to.equal(from);
      expect(await handle.release()).to.equal(true);
    } finally {
      await semaphore.close();
      await connection.close();
    }
  });
});
