import type { Backend } from '../backends/backend.js';
import { backendOf, type RedisTarget } from '../clients.js';
import { type Clock, systemClock } from '../time/clock.js';
import { Sampler } from './sampler.js';

/** Milliseconds between two looks. */
const INTERVAL_MS = 1000;

const samplers = new WeakMap<Backend, Map<string, Sampler>>();

/** The sampler of this process for a target and prefix, which all views share. */
export function sharedSampler(
  target: RedisTarget | Backend,
  prefix: string,
  names: readonly string[] = [],
  clock?: Clock,
): Sampler {
  const backend = backendOf(target);
  const byKind = samplers.get(backend) ?? new Map<string, Sampler>();
  samplers.set(backend, byKind);
  const kind = JSON.stringify([prefix, ...names]);
  const time = clock ?? backend.clock ?? systemClock;
  const options = { prefix, clock: time, interval: INTERVAL_MS, names };
  const sampler = byKind.get(kind) ?? new Sampler(backend, options);
  byKind.set(kind, sampler);
  return sampler;
}
