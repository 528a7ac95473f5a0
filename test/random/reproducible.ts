import { assert, type IAsyncProperty, type Parameters } from 'fast-check';

/** A failed run prints `seed` and `path`, to be set again as environment variables. */
const { REDSEM_SEED, REDSEM_PATH, REDSEM_RUNS } = process.env;

/** The seed of a run without REDSEM_SEED is always the same; `fresh` is another each time. */
const FIXED_SEED = 14;

/** `runs`: unless REDSEM_RUNS says otherwise; fresh seeds get thirty times as many. */
export async function check<T>(property: IAsyncProperty<T>, runs: number): Promise<void> {
  const parameters: Parameters<T> = {
    numRuns: Number(REDSEM_RUNS ?? (REDSEM_SEED === 'fresh' ? 30 * runs : runs)),
    // Shrinking may take longer than a test has: a fresh seed is printed at once, and shrinks when
    // it is set again.
    endOnFailure: REDSEM_SEED === 'fresh' || process.env['NOSHRINK'] !== undefined,
    includeErrorInReport: true,
  };
  if (REDSEM_SEED !== 'fresh') parameters.seed = Number(REDSEM_SEED ?? FIXED_SEED);
  if (REDSEM_PATH !== undefined) parameters.path = REDSEM_PATH;
  await assert(property, parameters);
}
