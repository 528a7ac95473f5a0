import { type FaultProxy, startProxy } from '../../support/fault-proxy.js';
import { startServer, type TestServer } from '../../../test/support/redis-server.js';
import type { FaultKind } from '../history/fault-kinds.js';
import type { PlannedFault } from '../nemesis/plan.js';
import { injectProxyFault, networkKinds } from './proxy-faults.js';
import { StoredSemaphore } from '../../../test/support/stored-semaphore.js';
import { keepingData, serverFaults } from './server-faults.js';
import { type Address, type Topology, type Undo, WORKERS } from './topology.js';

export const QUORUM_NODES = 3;

export const quorumKinds: readonly FaultKind[] = [
  'kill-process',
  'stop-process',
  'stop-server',
  'restart-with-data',
  'restart-empty',
  'pause-clients',
  'kill-clients',
  ...networkKinds,
  'forget-scripts',
];

interface Node {
  readonly server: TestServer;
  /** One for each worker. */
  readonly proxies: readonly FaultProxy[];
}

/** Independent masters; a fault strikes one of them at a time, or the way to it. */
export async function startQuorum(): Promise<Topology> {
  const nodes = await Promise.all(
    Array.from({ length: QUORUM_NODES }, async () => {
      const server = await startServer({ args: keepingData });
      const starts = Array.from({ length: WORKERS }, () => startProxy(server.port));
      return { server, proxies: await Promise.all(starts) };
    }),
  );
  return new QuorumTopology(nodes);
}

class QuorumTopology implements Topology {
  /** Waiters are in no queue: each of them asks again. */
  readonly observerAddress: Address;
  readonly #nodes: readonly Node[];

  constructor(nodes: readonly Node[]) {
    this.#nodes = nodes;
    const ports = nodes.map(({ server }) => server.port);
    this.observerAddress = { topology: 'quorum', client: 'redis', ports };
  }

  addressOf(worker: number): Address {
    const ports = this.#nodes.map(({ server, proxies }) => proxies[worker]?.port ?? server.port);
    return { topology: 'quorum', client: worker % 2 === 0 ? 'redis' : 'ioredis', ports };
  }

  async leftKeys(name: string): Promise<string[]> {
    const parts = await Promise.all(
      this.#nodes.map(({ server }) => new StoredSemaphore(server, name).keys()),
    );
    return [...new Set(parts.flat())];
  }

  inject(fault: PlannedFault, name: string): Promise<Undo | undefined> {
    const node = this.#nodes[fault.node ?? 0];
    if (node === undefined) throw new Error(`there is no node ${fault.node}`);
    const injectHere = serverFaults[fault.kind];
    if (injectHere !== undefined) return injectHere(node.server, fault, name);
    return injectProxyFault(node.proxies, fault);
  }

  async stop(): Promise<void> {
    for (const { server, proxies } of this.#nodes) {
      await Promise.all(proxies.map((proxy) => proxy.stop()));
      await server.stop();
    }
  }
}
