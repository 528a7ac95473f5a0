import type { RedisTarget } from '../clients.js';
import { backendOf } from '../clients.js';
import { systemClock } from '../time/clock.js';
import { Sampler } from './sampler.js';

/**
 * A sampler of a view that is alone in its process, as often as that wants it.
 * @param interval milliseconds between two looks
 */
export function samplerFor(target: RedisTarget, prefix: string, interval: number): Sampler {
  return new Sampler(backendOf(target), { prefix, clock: systemClock, interval });
}
