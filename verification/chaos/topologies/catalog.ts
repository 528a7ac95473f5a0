import { noFakeClock } from '../../../test/support/require-server.js';
import type { FaultKind } from '../history/fault-kinds.js';
import { clusterKinds, startClusterTopology } from './cluster.js';
import { quorumKinds, singleKinds, startIndependent } from './independent.js';
import { replicatedKinds } from './replicated.js';
import { startSentinelTopology } from './sentinel.js';
import type { Topology } from './topology.js';

interface TopologyEntry {
  readonly kinds: readonly FaultKind[];
  /** How many independent masters there are; left out: 1. */
  readonly nodes?: number;
  readonly start: () => Promise<Topology>;
}

const QUORUM_NODES = 3;

const catalog = {
  single: { kinds: singleKinds, start: () => startIndependent('single', 1) },
  sentinel: { kinds: replicatedKinds, start: startSentinelTopology },
  cluster: { kinds: clusterKinds, start: startClusterTopology },
  quorum: {
    kinds: quorumKinds,
    nodes: QUORUM_NODES,
    start: () => startIndependent('quorum', QUORUM_NODES),
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

/**
 * Those that can be injected here: no clock is stepped where libfaketime, or a server that works
 * with it, is missing.
 */
export function faultKindsOf(name: TopologyName, keeper: boolean): readonly FaultKind[] {
  const entry: TopologyEntry = catalog[name];
  // Without a keeper each of them would cost its process all that it holds.
  const stalls: readonly FaultKind[] = ['stall-loop', 'stall-loop', 'stall-loop', 'stall-loop'];
  const kinds = keeper ? [...entry.kinds, ...stalls] : entry.kinds;
  return noFakeClock() === undefined ? kinds : kinds.filter((kind) => kind !== 'step-clock');
}

export function nodesOf(name: TopologyName): { nodes?: number } {
  const entry: TopologyEntry = catalog[name];
  return entry.nodes === undefined ? {} : { nodes: entry.nodes };
}

export function startTopology(name: TopologyName): Promise<Topology> {
  return catalog[name].start();
}
