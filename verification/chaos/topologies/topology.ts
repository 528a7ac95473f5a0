import type { TestServer } from '../../../test/support/redis-server.js';
import { StoredSemaphore } from '../../../test/support/stored-semaphore.js';
import type { FaultKind } from '../history/fault-kinds.js';
import type { PlannedFault, Undo } from '../nemesis/plan.js';
import type { Address } from './connect.js';
import type { Destination, Detours } from './detours.js';
import { NAME, serverFaults } from './server-faults.js';

/** Causes a fault. Resolves when the fault is there; if it lasts, with a function that ends it. */
type Inject = () => Promise<Undo | undefined>;

/** Servers for the faults and the workers. */
export interface Servers {
  readonly topology: Address['topology'];
  /** The ports that clients start with. */
  readonly ports: readonly number[];
  /** The servers that clients are led to. */
  readonly named: readonly Destination[];
  /** The server that a fault strikes. */
  struck(fault: PlannedFault): TestServer | Promise<TestServer>;
  /** The servers that keep a semaphore's keys. */
  keepers(): readonly TestServer[] | Promise<readonly TestServer[]>;
  /** Faults that only these servers know. */
  readonly faults?: Partial<Record<FaultKind, Inject>>;
  /** A step that must come before a fault, and disturbs no process. */
  prepare?(fault: PlannedFault): Promise<void>;
  /** Repairs the damage that the end of a fault leaves. */
  repair?(): Promise<void>;
  stop(): Promise<unknown>;
}

/** Servers, and the ways of the workers to them, for faults to strike. */
export class Topology {
  readonly servers: Servers;
  readonly #detours: Detours;

  constructor(servers: Servers, detours: Detours) {
    this.servers = servers;
    this.#detours = detours;
  }

  /** The observer reaches the servers past the faults of the workers' connections. */
  get observerAddress(): Address {
    const { topology, ports } = this.servers;
    return { topology, kind: 'redis', ports };
  }

  /** How the worker with that index reaches them. */
  addressOf(worker: number): Address {
    const { topology, ports } = this.servers;
    const detours = this.#detours.of(worker);
    const kind = worker % 2 === 0 ? 'redis' : 'ioredis';
    // No other server names a sentinel, which is asked without a detour.
    return { topology, kind, ports: ports.map((port) => detours[port] ?? port), detours };
  }

  /** The parts of the keys of a semaphore that exist. */
  async leftKeys(): Promise<string[]> {
    const servers = await this.servers.keepers();
    const parts = servers.map((server) => new StoredSemaphore(server, NAME).keys());
    return [...new Set((await Promise.all(parts)).flat())];
  }

  async inject(fault: PlannedFault): Promise<Undo | undefined> {
    const injectOwn = this.servers.faults?.[fault.kind];
    if (injectOwn !== undefined) return injectOwn();
    const injectHere = serverFaults[fault.kind];
    if (injectHere === undefined) return this.#detours.inject(fault);
    return injectHere(await this.servers.struck(fault), fault);
  }

  async stop(): Promise<void> {
    // The proxies last: clients that reconnect may do so while the servers stop.
    await this.servers.stop();
    await this.#detours.stop();
  }
}
