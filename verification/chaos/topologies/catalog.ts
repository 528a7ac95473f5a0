import { noFakeClock } from '../../../test/support/require-server.js';
import type { FaultKind } from '../../history/fault-effects.js';
import type { Address } from './connect.js';
import { networkKinds, startDetours } from './detours.js';
import { startIndependent } from './independent.js';
import { startClusterTopology, startSentinelTopology } from './replicated.js';
import { type Servers, type Topology, topologyOf } from './topology.js';

export type TopologyName = Address['topology'];

interface TopologyEntry {
  readonly kinds: readonly FaultKind[];
  /** How many independent masters there are. */
  readonly nodes: number;
  readonly start: () => Promise<Servers>;
}

// The order counts: a seed draws from it.
const processes = ['kill-process', 'stop-process'] as const;
const servers = ['stop-server', 'restart-with-data', 'restart-empty', 'pause-clients'] as const;
const connections = ['kill-clients', ...networkKinds, 'forget-scripts'] as const;
const data = ['flush-data', 'delete-key'] as const;
const replicated = [...processes, ...connections, ...data, 'fail-over'] as const;

export const catalog: Readonly<Record<TopologyName, TopologyEntry>> = {
  single: {
    kinds: [...processes, ...servers, ...connections, ...data, 'step-clock'],
    nodes: 1,
    start: () => startIndependent('single', 1),
  },
  sentinel: { kinds: replicated, nodes: 1, start: startSentinelTopology },
  cluster: { kinds: [...replicated, 'move-slot'], nodes: 1, start: startClusterTopology },
  quorum: {
    // Without faults that take tickets from a majority at once.
    kinds: [...processes, ...servers, ...connections],
    nodes: 3,
    start: () => startIndependent('quorum', 3),
  },
};

/** The kinds that can be injected here: a step of the clock needs libfaketime. */
export function faultKindsOf(name: TopologyName, keeper: boolean): readonly FaultKind[] {
  // Without a keeper a blocked loop would cost its process all permits.
  const stalls = Array.from({ length: keeper ? 4 : 0 }, () => 'stall-loop' as const);
  const kinds = [...catalog[name].kinds, ...stalls];
  return noFakeClock() === undefined ? kinds : kinds.filter((kind) => kind !== 'step-clock');
}

export async function startTopology(name: TopologyName): Promise<Topology> {
  const started = await catalog[name].start();
  return topologyOf(started, await startDetours(started.named));
}
