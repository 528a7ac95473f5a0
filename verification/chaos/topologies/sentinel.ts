import { startSentinels } from '../../support/redis-sentinel.js';
import type { TestServer } from '../../../test/support/redis-server.js';
import { Detours } from './detours.js';
import { Replicated } from './replicated.js';
import type { Topology } from './topology.js';

/** A master and two replicas that three sentinels watch over. */
export async function startSentinelTopology(): Promise<Topology> {
  const sentinels = await startSentinels();
  const servers = {
    master: () => sentinels.master(),
    replicas: async () => {
      const master = await sentinels.master();
      return sentinels.servers.filter((server) => server !== master);
    },
    kill: (server: TestServer) => server.kill(),
    pause: (server: TestServer) => server.pause(),
    untilFailover: (from: TestServer) => sentinels.untilFailover(from),
    repair: () => sentinels.repair(),
  };
  const ports = sentinels.addresses.map(({ port }) => port);
  const detours = await Detours.start(
    sentinels.servers.map((server) => ({ named: sentinels.portOf(server), port: server.port })),
  );
  const stop = (): Promise<void> => sentinels.stop();
  return new Replicated({ servers, topology: 'sentinel', ports, detours, faults: {}, stop });
}
