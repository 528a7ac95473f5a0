import { RandomNumbers } from '../../test/support/random-numbers.js';

/** The random numbers of the tests, with durations. */
export class Random extends RandomNumbers {
  real(from: number, to: number): number {
    return from + this.next() * (to - from);
  }

  /** Mostly short, sometimes several times the mean. */
  exponential(mean: number): number {
    return -Math.log(1 - this.next()) * mean;
  }
}

/**
 * A separate source for each user: a schedule with one fault less is otherwise nearly the same,
 * because the draws of one user do not change the draws of another.
 */
export function streamOf(seed: number, ...names: readonly (string | number)[]): Random {
  let hash = 0x811c9dc5;
  for (const character of `${seed}/${names.join('/')}`) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  return new Random(hash);
}
