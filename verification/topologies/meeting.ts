/** Gives a function that resolves, for each of so many callers, once all have called it and `action` has run. */
export function meeting(callers: number, action: () => unknown): () => Promise<void> {
  let missing = callers;
  let begin: () => void = () => {};
  const all = new Promise<void>((resolve) => (begin = resolve));
  const acted = all.then(async () => void (await action()));
  return () => {
    missing -= 1;
    if (missing === 0) begin();
    return acted;
  };
}
