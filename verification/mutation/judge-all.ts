import type { Mutant, Result } from './mutant.js';

export interface Progress {
  (result: Result, done: number, total: number): void;
}

/** Judges mutants, as many at a time as there are places where that can be done. */
export async function judgeAll<M extends Mutant, Place>(
  mutants: readonly M[],
  places: readonly Place[],
  judge: (place: Place, mutant: M) => Promise<Result>,
  onResult: Progress,
): Promise<Result[]> {
  const results: Result[] = [];
  const left = mutants.values();
  const work = async (place: Place): Promise<void> => {
    for (const mutant of left) {
      const result = await judge(place, mutant);
      results.push(result);
      onResult(result, results.length, mutants.length);
    }
  };
  await Promise.all(places.map(work));
  return results.toSorted((a, b) => a.mutant.id - b.mutant.id);
}
