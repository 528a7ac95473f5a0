import type { TestServer } from '../../../test/support/redis-server.js';
import { StoredSemaphore } from '../../support/stored-semaphore.js';
import type { FaultKind } from '../../history/fault-effects.js';
import type { PlannedFault, Undo } from '../nemesis/plan.js';
import type { Address } from './connect.js';
import type { Destination, Detours } from './detours.js';
import { NAME, serverFaults } from './server-faults.js';

/** Causes a fault. Resolves when the fault is there; if it lasts, with a function that ends it. */
type Inject = (fault: PlannedFault) => Promise<Undo | undefined>;

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
  /** Repairs the damage that the end of a fault leaves. */
  repair?(): Promise<void>;
  stop(): Promise<unknown>;
}

export type Topology = ReturnType<typeof topologyOf>;

/** Servers, and the ways of the workers to them, for faults to strike. */
export function topologyOf(servers: Servers, detours: Detours) {
  const { topology, ports } = servers;
  // The observer reaches the servers past the faults of the workers' connections.
  const observerAddress: Address = { topology, kind: 'redis', ports };
  return {
    servers,
    observerAddress,
    /** How the worker with that index reaches them. */
    addressOf: (worker: number): Address => {
      const own = detours.of(worker);
      const kind = worker % 2 === 0 ? 'redis' : 'ioredis';
      // No other server names a sentinel, which is asked without a detour.
      return { topology, kind, ports: ports.map((port) => own[port] ?? port), detours: own };
    },
    /** The parts of the keys of a semaphore that exist. */
    leftKeys: async (): Promise<string[]> => {
      const parts = (await servers.keepers()).map((each) => new StoredSemaphore(each, NAME).keys());
      return [...new Set((await Promise.all(parts)).flat())];
    },
    inject: async (fault: PlannedFault): Promise<Undo | undefined> => {
      const injectOwn = servers.faults?.[fault.kind];
      if (injectOwn !== undefined) return injectOwn(fault);
      const injectHere = serverFaults[fault.kind];
      if (injectHere === undefined) return detours.inject(fault);
      return injectHere(await servers.struck(fault), fault);
    },
    stop: async (): Promise<void> => {
      // The proxies last: clients that reconnect may do so while the servers stop.
      await servers.stop();
      await detours.stop();
    },
  };
}
