import { noFakeClock } from '../../../test/support/require-server.js';
import type { FaultKind } from '../../history/fault-effects.js';
import { networkKinds, startDetours } from './detours.js';
import { startIndependent } from './independent.js';
import { startClusterTopology, startSentinelTopology } from './replicated.js';
import { type Servers, type Topology, topologyOf } from './topology.js';

interface TopologyEntry {
  readonly kinds: readonly FaultKind[];
  /** How many independent masters there are; left out: 1. */
  readonly nodes?: number;
  readonly start: () => Promise<Servers>;
}

// The order counts: a seed draws from it.
const processes = ['kill-process', 'stop-process'] as const;
const servers = ['stop-server', 'restart-with-data', 'restart-empty', 'pause-clients'] as const;
const connections = ['kill-clients', ...networkKinds, 'forget-scripts'] as const;
const data = ['flush-data', 'delete-key'] as const;
const replicated = [...processes, ...connections, ...data, 'fail-over'] as const;

const catalog = {
  single: {
    kinds: [...processes, ...servers, ...connections, ...data, 'step-clock'],
    start: () => startIndependent('single', 1),
  },
  sentinel: { kinds: replicated, start: startSentinelTopology },
  cluster: { kinds: [...replicated, 'move-slot'], start: startClusterTopology },
  quorum: {
    // Without faults that take tickets from a majority at once.
    kinds: [...processes, ...servers, ...connections],
    nodes: 3,
    start: () => startIndependent('quorum', 3),
  },
} as const satisfies Record<string, TopologyEntry>;

export type TopologyName = keyof typeof catalog;

export const topologyNames = Object.keys(catalog);

export function isTopologyName(name: string): name is TopologyName {
  return Object.hasOwn(catalog, name);
}

/** No keeper renews on several masters. */
export function keeperFits(name: TopologyName): boolean {
  return name !== 'quorum';
}

/** The kinds that can be injected here: a step of the clock needs libfaketime. */
export function faultKindsOf(name: TopologyName, keeper: boolean): readonly FaultKind[] {
  const entry: TopologyEntry = catalog[name];
  // Without a keeper a blocked loop would cost its process all permits.
  const stalls = Array.from({ length: keeper ? 4 : 0 }, () => 'stall-loop' as const);
  const kinds = [...entry.kinds, ...stalls];
  return noFakeClock() === undefined ? kinds : kinds.filter((kind) => kind !== 'step-clock');
}

export function nodesOf(name: TopologyName): number {
  const entry: TopologyEntry = catalog[name];
  return entry.nodes ?? 1;
}

export async function startTopology(name: TopologyName): Promise<Topology> {
  const started = await catalog[name].start();
  return topologyOf(started, await startDetours(started.named));
}
