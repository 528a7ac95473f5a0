import { assert, type IAsyncProperty, type Parameters, type RunDetails } from 'fast-check';
import { inspect } from 'node:util';

/** What a failed run prints, to be set again as environment variables. */
const { REDSEM_SEED, REDSEM_PATH, REDSEM_RUNS } = process.env;

/**
 * The seed of a run that asks for no other: a newcomer's run is everybody's run. `fresh`: another
 * one each time.
 */
const FIXED_SEED = 14;

/** How many runs a property gets unless REDSEM_RUNS says otherwise. */
export async function check<T>(property: IAsyncProperty<T>, runs: number): Promise<void> {
  const parameters: Parameters<T> = {
    numRuns: Number(REDSEM_RUNS ?? runs),
    endOnFailure: process.env['NOSHRINK'] !== undefined,
    asyncReporter: async (details) => report(details),
  };
  if (REDSEM_SEED !== 'fresh') parameters.seed = Number(REDSEM_SEED ?? FIXED_SEED);
  if (REDSEM_PATH !== undefined) parameters.path = REDSEM_PATH;
  await assert(property, parameters);
}

function report<T>(details: RunDetails<T>): void {
  if (!details.failed) return;
  throw new Error(describe(details), { cause: details.errorInstance });
}

function describe<T>({ seed, counterexamplePath, counterexample, ...rest }: RunDetails<T>): string {
  const shown = inspect(counterexample, { depth: 8, maxArrayLength: 1000, maxStringLength: 2000 });
  const settings = [
    `REDSEM_SEED=${seed}`,
    ...(counterexamplePath === null ? [] : [`REDSEM_PATH='${counterexamplePath}'`]),
  ];
  const what = `fails after ${rest.numRuns} runs and ${rest.numShrinks} shrinks with`;
  return `${what}\n${shown}\n${String(rest.errorInstance)}\nThe same again: ${settings.join(' ')}`;
}
