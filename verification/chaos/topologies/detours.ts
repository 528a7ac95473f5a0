import { type FaultProxy, startProxy } from '../../support/fault-proxy.js';
import type { FaultKind } from '../../history/fault-effects.js';
import type { PlannedFault, Undo } from '../nemesis/plan.js';

/**
 * How many worker processes a run has; each has its own way to the servers, for faults to strike.
 */
export const WORKERS = 4;

/** Faults of the way between a worker and the servers. */
export const networkKinds = [
  'delay',
  'hang',
  'swallow-requests',
  'swallow-replies',
  'split',
  'cut',
] as const satisfies readonly FaultKind[];

type Setter = (proxy: FaultProxy, on: boolean, delay: number) => void;

const setters: Partial<Record<FaultKind, Setter>> = {
  delay: (proxy, on, delay) => (proxy.delay = on ? delay : 0),
  hang: (proxy, on) => proxy.hang(on),
  split: (proxy, on) => (proxy.splits = on),
  'swallow-requests': (proxy, on) => (proxy.swallowsRequests = endingIfLost(proxy, on)),
  'swallow-replies': (proxy, on) => (proxy.swallowsReplies = endingIfLost(proxy, on)),
};

/** TCP never continues after lost bytes: the connections that have lost some end. */
function endingIfLost(proxy: FaultProxy, on: boolean): boolean {
  if (!on) proxy.cut();
  return on;
}

export interface Destination {
  /** The port by which the other servers name this one to clients. */
  readonly named: number;
  readonly port: number;
}

export type Detours = Awaited<ReturnType<typeof startDetours>>;

/**
 * Separate proxies for each worker to each server. The address maps of the clients lead to them;
 * replication, sentinels and the observer use no proxy.
 */
export async function startDetours(servers: readonly Destination[]) {
  const starting = servers.map(async ({ named, port }) => {
    const starts = Array.from({ length: WORKERS }, () => startProxy(port));
    return { named, proxies: await Promise.all(starts) };
  });
  const ways = await Promise.all(starting);
  return {
    /** By the port that a server is named with, where the worker goes instead. */
    of: (worker: number): Record<number, number> => {
      const ports: Record<number, number> = {};
      for (const { named, proxies } of ways) ports[named] = proxies[worker]?.port ?? named;
      return ports;
    },
    /** Strikes the connections of the workers that the fault is for, to its node or to all. */
    inject: ({ kind, workers, node, delay = 0 }: PlannedFault): Undo => {
      const struck = ways
        .filter((_, index) => index === (node ?? index))
        .flatMap(({ proxies }) => proxies.filter((_, index) => workers?.includes(index) ?? true));
      const set = setters[kind];
      if (kind === 'cut') for (const proxy of struck) proxy.cut();
      else if (set === undefined) throw new Error(`this topology knows no ${kind}`);
      else for (const proxy of struck) set(proxy, true, delay);
      return async () => struck.forEach((proxy) => set?.(proxy, false, delay));
    },
    stop: () => Promise.all(ways.flatMap(({ proxies }) => proxies.map((proxy) => proxy.stop()))),
  };
}
