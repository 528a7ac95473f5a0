import { noFakeClock } from '../../../test/support/require-server.js';
import { type FaultProxy, startProxy } from '../../support/fault-proxy.js';
import { startServer, type TestServer } from '../../../test/support/redis-server.js';
import { StoredSemaphore } from '../../../test/support/stored-semaphore.js';
import type { FaultKind } from '../history/fault-kinds.js';
import type { PlannedFault } from '../nemesis/plan.js';
import { injectProxyFault, networkKinds } from './proxy-faults.js';
import { keepingData, serverFaults } from './server-faults.js';
import { type Address, type Topology, type Undo, WORKERS } from './topology.js';

export const singleKinds: readonly FaultKind[] = [
  'kill-process',
  'stop-process',
  'stop-server',
  'restart-with-data',
  'restart-empty',
  'pause-clients',
  'kill-clients',
  ...networkKinds,
  'forget-scripts',
  'flush-data',
  'delete-key',
  'step-clock',
];

/** One server, and a proxy in front of it for each worker. */
export async function startSingle(): Promise<Topology> {
  const fakeClock = noFakeClock() === undefined;
  const server = await startServer({ fakeClock, args: keepingData });
  const proxies = await Promise.all(Array.from({ length: WORKERS }, () => startProxy(server.port)));
  return new Single(server, proxies);
}

class Single implements Topology {
  readonly observerAddress: Address;
  readonly #server: TestServer;
  readonly #proxies: readonly FaultProxy[];

  constructor(server: TestServer, proxies: readonly FaultProxy[]) {
    this.#server = server;
    this.#proxies = proxies;
    this.observerAddress = { topology: 'single', client: 'redis', ports: [server.port] };
  }

  addressOf(worker: number): Address {
    const port = this.#proxies[worker]?.port ?? this.#server.port;
    return { topology: 'single', client: worker % 2 === 0 ? 'redis' : 'ioredis', ports: [port] };
  }

  leftKeys(name: string): Promise<string[]> {
    return new StoredSemaphore(this.#server, name).keys();
  }

  inject(fault: PlannedFault, name: string): Promise<Undo | undefined> {
    const injectHere = serverFaults[fault.kind];
    if (injectHere !== undefined) return injectHere(this.#server, fault, name);
    return injectProxyFault(this.#proxies, fault);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#proxies.map((proxy) => proxy.stop()));
    await this.#server.stop();
  }
}
