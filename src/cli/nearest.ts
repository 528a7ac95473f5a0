/** More typing errors than this are another word. */
const MOST_ERRORS = 2;

/** The word that was probably meant; undefined where none is near. */
export function nearest(typed: string, words: readonly string[]): string | undefined {
  const [best] = words
    .map((word) => ({ word, errors: distance(typed, word) }))
    .toSorted((a, b) => a.errors - b.errors);
  return best !== undefined && best.errors <= MOST_ERRORS ? best.word : undefined;
}

/** Levenshtein's: letters to add, to leave out or to change. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, letter] of Array.from(a).entries()) {
    const next = [i + 1];
    for (const [j, other] of Array.from(b).entries()) {
      const change = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(change, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
