/** What a closure is run with. */
export interface Releasable extends AsyncDisposable {
  release(): Promise<unknown>;
}

/**
 * Runs `fn` with `handle` and releases it whatever happens. Settles as `fn` does. A release that
 * fails beside an error of `fn` becomes that error's `cause`, or its `suppressed` where it already
 * has a cause. Where that cannot be, and where `fn` gave a result, disposing of the handle reports
 * it by a warning, and the release is retried.
 */
export async function runAndRelease<H extends Releasable, T>(
  handle: H,
  fn: (handle: H) => T | Promise<T>,
): Promise<T> {
  let result: T;
  try {
    result = await fn(handle);
  } catch (error) {
    const failure = await handle.release().then(
      () => undefined,
      (reason: unknown) => ({ reason }),
    );
    if (failure !== undefined && !attach(error, failure.reason))
      await handle[Symbol.asyncDispose]();
    throw error;
  }
  await handle[Symbol.asyncDispose]();
  return result;
}

/** False where the error has no place for it. */
function attach(error: unknown, failure: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const field = (['cause', 'suppressed'] as const).find(
    (name) => Reflect.get(error, name) === undefined,
  );
  if (field === undefined) return false;
  // Unlike that of Object it does not throw where the error cannot be changed.
  return Reflect.defineProperty(error, field, {
    value: failure,
    configurable: true,
    writable: true,
  });
}
