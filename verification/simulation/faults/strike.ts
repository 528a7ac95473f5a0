import type { Damage } from '../world/damage.js';
import type { Conditions } from '../world/weather.js';
import type { Incarnation, World } from '../world/world.js';
import { isServerFault } from './kinds.js';
import type { PlannedFault } from './plan.js';

const nothing = (): void => undefined;

/** Brings a fault about; gives what ends it. */
export function strike(fault: PlannedFault, world: World): () => void {
  const { kind, duration, target, force } = fault;
  if (isServerFault(kind)) return strikeServer(fault, world);
  const victim = world.incarnation(target);
  switch (kind) {
    case 'stall':
      world.stall(victim, duration);
      return nothing;
    case 'kill-process':
      world.kill(target);
      return () => world.start(target);
    case 'step-wall':
      victim.process.clock.stepWall((force < 0.5 ? force * 4 - 1 : force - 0.75) * 40_000);
      return nothing;
    case 'cut':
      for (const link of victim.links) link.cut(duration);
      return nothing;
    case 'cut-subscriber':
      for (const link of victim.links) link.cutSubscribers(duration, force < 0.5);
      return nothing;
    default:
      return worsen(victim, conditionsOf(fault));
  }
}

function strikeServer({ kind, duration, target, force }: PlannedFault, world: World): () => void {
  switch (kind) {
    case 'hang':
      world.gate(target).hang(duration);
      return nothing;
    case 'restart-with-data':
    case 'restart-empty':
    case 'restart-old':
      world.takeDown(target, kind, force);
      return () => world.bringUp(target);
    case 'step-clock':
      world.stepServer((force - 0.5) * 20_000);
      return nothing;
    case 'damaged':
      return spoil(world.nameAt(force), world.gate(target).damage);
    default:
      return nothing;
  }
}

function spoil(name: string, damage: Damage): () => void {
  damage.strike(name);
  return () => damage.heal(name);
}

function worsen(victim: Incarnation, conditions: Partial<Conditions>): () => void {
  const ends = victim.links.map((link) => link.weather.worsen(conditions));
  return () => ends.forEach((end) => end());
}

function conditionsOf({ kind, force }: PlannedFault): Partial<Conditions> {
  const often = 0.1 + 0.9 * force;
  switch (kind) {
    case 'slow':
      return { latency: 5 + 400 * force * force };
    case 'lose-commands':
      return { loseCommands: often };
    case 'lose-replies':
      return { loseReplies: often };
    case 'lose-pushes':
      return { losePushes: often };
    case 'duplicate':
      return { duplicate: often };
    case 'straggle':
      return { straggle: 0.05 + 0.3 * force };
    case 'refuse-subscriptions':
      return { refuseSubscriptions: true };
    case 'refuse-writes':
      return { refuseWrites: true };
    default:
      return {};
  }
}

/** Whom a fault strikes; undefined: everybody. */
export function victimsOf({ kind, target }: PlannedFault, world: World): string[] | undefined {
  return isServerFault(kind) ? undefined : [world.incarnation(target).process.name];
}

/** The one semaphore that a fault strikes; undefined: all. */
export function semaphoreOf({ kind, force }: PlannedFault, world: World): string | undefined {
  return kind === 'damaged' ? world.nameAt(force) : undefined;
}
