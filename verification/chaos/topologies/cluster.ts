import { eventually } from '../../../test/support/eventually.js';
import type { TestServer } from '../../../test/support/redis-server.js';
import { startCluster, type TestCluster } from '../../support/redis-cluster.js';
import type { FaultKind } from '../history/fault-kinds.js';
import { NAME } from '../semaphore-name.js';
import { Detours } from './detours.js';
import { Replicated, replicatedKinds } from './replicated.js';
import type { Topology, Undo } from './topology.js';

export const clusterKinds: readonly FaultKind[] = [...replicatedKinds, 'move-slot'];

/** Three masters, each with one replica; the faults strike the shard that has the semaphore. */
export async function startClusterTopology(): Promise<Topology> {
  const cluster = await startCluster();
  const slot = await cluster.slotOf(`redsem:{${NAME}}:tickets`);
  const servers = {
    master: () => cluster.masterOf(slot),
    replicas: () => cluster.replicasOf(slot),
    kill: (server: TestServer) => cluster.kill(server),
    pause: (server: TestServer) => cluster.pause(server),
    untilFailover: async (from: TestServer) => {
      await eventually(async () => (await cluster.masterOf(slot)) !== from, 'no failover');
    },
    repair: () => cluster.repair(),
  };
  const ports = cluster.nodes.map(({ port }) => port);
  const detours = await Detours.start(ports.map((port) => ({ named: port, port })));
  return new Replicated({
    servers,
    topology: 'cluster',
    ports,
    detours,
    faults: { 'move-slot': () => moveSlot(cluster, slot) },
    stop: () => cluster.stop(),
  });
}

/**
 * Begins to move a slot to another master, with one of its keys; the others follow when that is
 * undone.
 */
async function moveSlot(cluster: TestCluster, slot: number): Promise<Undo> {
  const from = await cluster.masterOf(slot);
  const to = (await cluster.masters()).find((master) => master !== from);
  if (to === undefined) throw new Error('a cluster of one master');
  await cluster.beginMove(slot, to);
  const keys = await cluster.keysIn(from, slot);
  await cluster.moveKeys(from, to, keys.slice(0, 1));
  return async () => {
    await cluster.finishMove(slot, from, to);
    await cluster.untilServedBy(slot, to);
  };
}
