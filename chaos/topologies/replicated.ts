import { setTimeout as sleep } from 'node:timers/promises';

import type { FaultKind } from '../history/fault-kinds.js';
import type { PlannedFault } from '../nemesis/plan.js';
import { FailOver, type ReplicatedServers } from './replicated-faults.js';
import { partsOf, serverFaults } from './server-faults.js';
import type { Address, Topology, Undo } from './topology.js';

interface ReplicatedOptions {
  readonly servers: ReplicatedServers;
  readonly topology: 'cluster' | 'sentinel';
  /** What clients are told to begin with. */
  readonly ports: readonly number[];
  readonly stop: () => Promise<void>;
}

/** Masters with replicas: a cluster, or what sentinels watch over. */
export class Replicated implements Topology {
  readonly ordered = true;
  readonly observerAddress: Address;
  readonly #options: ReplicatedOptions;
  readonly #failOver: FailOver;

  constructor(options: ReplicatedOptions) {
    this.#options = options;
    this.#failOver = new FailOver(options.servers);
    this.observerAddress = this.addressOf(0);
  }

  addressOf(worker: number): Address {
    const { topology, ports } = this.#options;
    return { topology, client: worker % 2 === 0 ? 'redis' : 'ioredis', ports };
  }

  async leftKeys(name: string): Promise<string[]> {
    return partsOf(await this.#options.servers.master(), name);
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
    const injectHere = serverFaults[kind];
    if (injectHere === undefined) throw new Error(`this topology knows no ${kind}`);
    return injectHere(await this.#options.servers.master(), fault, name);
  }

  repair(): Promise<void> {
    return this.#options.servers.repair();
  }

  stop(): Promise<void> {
    return this.#options.stop();
  }
}
