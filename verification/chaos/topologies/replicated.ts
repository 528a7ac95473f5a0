import { setTimeout as sleep } from 'node:timers/promises';
import { StoredSemaphore } from '../../../test/support/stored-semaphore.js';
import type { FaultKind } from '../history/fault-kinds.js';
import type { PlannedFault } from '../nemesis/plan.js';
import type { Detours } from './detours.js';
import { FailOver, type ReplicatedServers } from './replicated-faults.js';
import { serverFaults } from './server-faults.js';
import type { Address, Topology, Undo } from './topology.js';

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
  readonly #failOver: FailOver;

  constructor(options: ReplicatedOptions) {
    this.#options = options;
    this.#failOver = new FailOver(options.servers);
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

  async prepare(fault: PlannedFault): Promise<void> {
    if (fault.kind !== 'fail-over') return;
    await this.#failOver.stopReplication();
    await sleep(fault.lasts);
  }

  async inject(fault: PlannedFault, name: string): Promise<Undo | undefined> {
    const kind: FaultKind = fault.kind;
    if (kind === 'fail-over') {
      await this.#failOver.promote();
      return undefined;
    }
    const { servers, faults, detours } = this.#options;
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
}
