import type { FaultProxy } from '../../support/fault-proxy.js';
import type { FaultKind } from '../history/fault-kinds.js';
import type { PlannedFault } from '../nemesis/plan.js';
import type { Undo } from './topology.js';

/** What can befall the way between a worker and the servers. */
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
  delay: (proxy, on, delay) => proxy.delay(on ? delay : 0),
  hang: (proxy, on) => proxy.hang(on),
  split: (proxy, on) => proxy.split(on),
  'swallow-requests': swallowing((proxy, on) => proxy.swallowRequests(on)),
  'swallow-replies': swallowing((proxy, on) => proxy.swallowReplies(on)),
};

/** Brings a fault upon the connections of the workers that it strikes. */
export function injectProxyFault(
  proxies: readonly FaultProxy[],
  { kind, workers, delay = 0 }: PlannedFault,
): Promise<Undo | undefined> {
  const struck = proxies.filter((_, index) => workers?.includes(index) ?? true);
  if (kind === 'cut') {
    for (const proxy of struck) proxy.cut();
    return Promise.resolve(undefined);
  }
  const set = setters[kind];
  if (set === undefined) throw new Error(`this topology knows no ${kind}`);
  for (const proxy of struck) set(proxy, true, delay);
  return Promise.resolve(() => {
    for (const proxy of struck) set(proxy, false, delay);
    return Promise.resolve();
  });
}

/** TCP never continues after lost bytes: the connections that have lost some end. */
function swallowing(swallow: (proxy: FaultProxy, on: boolean) => void): Setter {
  return (proxy, on) => {
    if (!on) proxy.cut();
    swallow(proxy, on);
  };
}
