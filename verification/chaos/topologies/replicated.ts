import { setTimeout as sleep } from 'node:timers/promises';
import type { TestServer } from '../../../test/support/redis-server.js';
import { StoredSemaphore } from '../../../test/support/stored-semaphore.js';
import type { FaultKind } from '../history/fault-kinds.js';
import type { PlannedFault } from '../nemesis/plan.js';
import type { Detours } from './detours.js';
import { networkKinds } from './proxy-faults.js';
import { serverFaults } from './server-faults.js';
import type { Address, Topology, Undo } from './topology.js';

export const replicatedKinds: readonly FaultKind[] = [
  'kill-process',
  'stop-process',
  'kill-clients',
  ...networkKinds,
  'forget-scripts',
  'flush-data',
  'delete-key',
  'fail-over',
];

/** What a set of servers with replicas can do about the master that has the semaphore. */
interface ReplicatedServers {
  master(): Promise<TestServer>;
  replicas(): Promise<TestServer[]>;
  kill(server: TestServer): Promise<void>;
  pause(server: TestServer): void;
  /** Resolves once another server has taken over. */
  untilFailover(from: TestServer): Promise<unknown>;
  /** Brings back what was killed. */
  repair(): Promise<void>;
}

interface ReplicatedOptions {
  readonly servers: ReplicatedServers;
  readonly topology: 'cluster' | 'sentinel';
  /** The addresses that clients start with. */
  readonly ports: readonly number[];
  readonly detours: Detours;
  /** Those that only these servers know. */
  readonly faults: Partial<Record<FaultKind, () => Promise<Undo>>>;
  readonly stop: () => Promise<void>;
}

/** Masters with replicas: a cluster, or what sentinels watch over. */
export class Replicated implements Topology {
  readonly observerAddress: Address;
  readonly #options: ReplicatedOptions;
  /** Replicas that no longer follow their master. */
  #stopped: readonly TestServer[] = [];

  constructor(options: ReplicatedOptions) {
    this.#options = options;
    const { topology, ports } = options;
    this.observerAddress = { topology, client: 'redis', ports };
  }

  addressOf(worker: number): Address {
    const { topology } = this.#options;
    const detours = this.#options.detours.of(worker);
    // No other server names the one that is asked first.
    const ports = this.#options.ports.map((port) => detours[port] ?? port);
    return { topology, client: worker % 2 === 0 ? 'redis' : 'ioredis', ports, detours };
  }

  async leftKeys(name: string): Promise<string[]> {
    return new StoredSemaphore(await this.#options.servers.master(), name).keys();
  }

  /** Stops replication, so that the last writes of the master reach no replica. */
  async prepare(fault: PlannedFault): Promise<void> {
    if (fault.kind !== 'fail-over') return;
    const { servers } = this.#options;
    this.#stopped = await servers.replicas();
    for (const replica of this.#stopped) servers.pause(replica);
    await sleep(fault.lasts);
  }

  async inject(fault: PlannedFault, name: string): Promise<Undo | undefined> {
    const kind: FaultKind = fault.kind;
    const { servers, faults, detours } = this.#options;
    if (kind === 'fail-over') {
      await this.#promote();
      return undefined;
    }
    const injectOwn = faults[kind];
    if (injectOwn !== undefined) return injectOwn();
    const injectHere = serverFaults[kind];
    if (injectHere === undefined) return detours.inject(fault);
    return injectHere(await servers.master(), fault, name);
  }

  repair(): Promise<void> {
    return this.#options.servers.repair();
  }

  async stop(): Promise<void> {
    // The ways last: what still tries to connect may do so while the servers take their leave.
    await this.#options.stop();
    await this.#options.detours.stop();
  }

  async #promote(): Promise<void> {
    const { servers } = this.#options;
    const master = await servers.master();
    await servers.kill(master);
    for (const replica of this.#stopped) replica.resume();
    this.#stopped = [];
    await servers.untilFailover(master);
  }
}
