import { setTimeout as sleep } from 'node:timers/promises';

import { eventually } from '../../../test/support/eventually.js';
import type { TestServer } from '../../../test/support/redis-server.js';
import { startCluster } from '../../support/redis-cluster.js';
import { startSentinels } from '../../support/redis-sentinel.js';
import type { PlannedFault } from '../nemesis/plan.js';
import { NAME } from './server-faults.js';
import type { Servers } from './topology.js';

/** Servers with replicas, at the master that has the semaphore. */
interface ReplicatedServers {
  master(): Promise<TestServer>;
  replicas(): Promise<TestServer[]>;
  kill(server: TestServer): Promise<void>;
  pause(server: TestServer): void;
  /** Resolves once another server has taken over. */
  untilFailover(from: TestServer): Promise<unknown>;
}

/** A master and two replicas that three sentinels watch over. */
export async function startSentinelTopology(): Promise<Servers> {
  const sentinels = await startSentinels();
  const master = () => sentinels.master();
  const { servers } = sentinels;
  return {
    topology: 'sentinel',
    ports: sentinels.ports,
    named: servers.map((server) => ({ named: sentinels.portOf(server), port: server.port })),
    ...failingOver({
      master,
      replicas: () => sentinels.replicas(),
      kill: (server) => server.kill(),
      pause: (server) => server.pause(),
      untilFailover: (from) => sentinels.untilFailover(from),
    }),
    repair: () => sentinels.repair(),
    stop: () => sentinels.stop(),
  };
}

/** Three masters, each with one replica; the faults strike the shard that has the semaphore. */
export async function startClusterTopology(): Promise<Servers> {
  const cluster = await startCluster();
  const master = () => cluster.masterOf(NAME);
  const { ports } = cluster;
  const { faults, ...others } = failingOver({
    master,
    replicas: () => cluster.replicasOf(NAME),
    kill: (server) => cluster.kill(server),
    pause: (server) => cluster.pause(server),
    untilFailover: (from) => eventually(async () => (await master()) !== from, 'no failover'),
  });
  return {
    topology: 'cluster',
    ports,
    named: ports.map((port) => ({ named: port, port })),
    faults: { ...faults, 'move-slot': () => cluster.moveSlot(NAME) },
    ...others,
    repair: () => cluster.repair(),
    stop: () => cluster.stop(),
  };
}

/** The failover of a master whose last writes reach no replica. */
function failingOver(servers: ReplicatedServers) {
  const failOver = async ({ lasts }: PlannedFault): Promise<undefined> => {
    const [master, replicas] = [await servers.master(), await servers.replicas()];
    for (const replica of replicas) servers.pause(replica);
    await sleep(lasts);
    await servers.kill(master);
    for (const replica of replicas) replica.resume();
    await servers.untilFailover(master);
  };
  return {
    struck: () => servers.master(),
    keepers: async () => [await servers.master()],
    faults: { 'fail-over': failOver },
  } satisfies Partial<Servers>;
}
