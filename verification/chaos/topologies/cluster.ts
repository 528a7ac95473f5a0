import { startCluster } from '../../support/redis-cluster.js';
import type { TestServer } from '../../../test/support/redis-server.js';
import type { FaultKind } from '../history/fault-kinds.js';
import { NAME } from '../semaphore-name.js';
import { Detours } from './detours.js';
import { Replicated } from './replicated.js';
import { replicatedKinds } from './replicated-faults.js';
import { moveSlot } from './slot-move.js';
import type { Topology } from './topology.js';
import { eventually } from '../../../test/support/eventually.js';

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
