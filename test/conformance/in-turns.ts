/** Calls `act` so often at once, with one after the other of `all` in turns, and gives all results. */
export function inTurns<T, R>(
  all: readonly T[],
  count: number,
  act: (each: T, index: number) => Promise<R>,
): Promise<R[]> {
  const rounds = Array.from({ length: Math.ceil(count / all.length) }, () => all);
  return Promise.all(rounds.flat().slice(0, count).map(act));
}
