import type { Conditions } from '../world/weather.js';
import type { World } from '../world/world.js';
import { type FaultKind, isServerFault } from './kinds.js';
import type { PlannedFault } from './plan.js';

/** Causes a fault; gives the function that ends it, if it lasts. */
type Strike = (fault: PlannedFault, world: World) => (() => void) | void;

const restart: Strike = ({ kind, target, force }, world) => {
  world.takeDown(target, kind, force);
  return () => world.bringUp(target);
};

const STRIKES: { readonly [_ in FaultKind]?: Strike } = {
  stall: ({ target, duration }, world) => world.stall(world.incarnation(target), duration),
  'kill-process': ({ target }, world) => {
    world.kill(target);
    return () => world.start(target);
  },
  'step-wall': ({ target, force }, world) => {
    const by = (force < 0.5 ? force * 4 - 1 : force - 0.75) * 40_000;
    world.incarnation(target).process.clock.stepWall(by);
  },
  cut: ({ target, duration }, world) => {
    for (const link of world.incarnation(target).links) link.cut(duration);
  },
  'cut-subscriber': ({ target, duration, force }, world) => {
    for (const link of world.incarnation(target).links) link.cutSubscribers(duration, force < 0.5);
  },
  hang: ({ target, duration }, world) => world.gate(target).hang(duration),
  'restart-with-data': restart,
  'restart-empty': restart,
  'restart-old': restart,
  'step-clock': ({ force }, world) => world.gate(0).step((force - 0.5) * 20_000),
  damaged: ({ target, force }, world) => {
    const [name, { damage }] = [world.nameAt(force), world.gate(target)];
    damage.change(name, 1);
    return () => damage.change(name, -1);
  },
};

const often = (force: number): number => 0.1 + 0.9 * force;

/** The other faults make the network worse. */
const CONDITIONS: { readonly [_ in FaultKind]?: (force: number) => Partial<Conditions> } = {
  slow: (force) => ({ latency: 5 + 400 * force * force }),
  'lose-commands': (force) => ({ loseCommands: often(force) }),
  'lose-replies': (force) => ({ loseReplies: often(force) }),
  'lose-pushes': (force) => ({ losePushes: often(force) }),
  duplicate: (force) => ({ duplicate: often(force) }),
  straggle: (force) => ({ straggle: 0.05 + 0.3 * force }),
  'refuse-subscriptions': () => ({ refuseSubscriptions: 1 }),
  'refuse-writes': () => ({ refuseWrites: 1 }),
};

/** Causes a fault; gives the function that ends it. */
export function strike(fault: PlannedFault, world: World): () => void {
  const { kind, target, force } = fault;
  const conditions = CONDITIONS[kind]?.(force);
  if (conditions === undefined) return STRIKES[kind]?.(fault, world) ?? (() => undefined);
  const ends = world.incarnation(target).links.map((link) => link.weather.worsen(conditions));
  return () => ends.forEach((end) => end());
}

/** The processes that a fault strikes; undefined: all. */
export function victimsOf({ kind, target }: PlannedFault, world: World): string[] | undefined {
  return isServerFault(kind) ? undefined : [world.incarnation(target).process.name];
}

/** The semaphore that a fault strikes; undefined: all. */
export function semaphoreOf({ kind, force }: PlannedFault, world: World): string | undefined {
  return kind === 'damaged' ? world.nameAt(force) : undefined;
}
