/** What a closure is run with. */
export interface Releasable {
  release(): Promise<unknown>;
}

/**
 * Runs `fn` with `handle` and releases it whatever happens. Settles as `fn` does. A release that fails beside an error
 * of `fn` is told as that error's `cause`, or as its `suppressed` where it has a cause of its own.
 */
export async function runWithHandle<H extends Releasable, T>(
  handle: H,
  fn: (handle: H) => T | Promise<T>,
): Promise<T> {
  let result: T;
  try {
    result = await fn(handle);
  } catch (error) {
    await handle.release().catch((failure: unknown) => attach(error, failure));
    throw error;
  }
  // The work is done, and a permit that cannot be given back now is tried on and at worst expires by itself.
  await handle.release().catch(() => undefined);
  return result;
}

function attach(error: unknown, failure: unknown): void {
  if (!(error instanceof Error)) return;
  const field = (['cause', 'suppressed'] as const).find(
    (name) => Reflect.get(error, name) === undefined,
  );
  // Unlike that of Object it does not throw where the error cannot be changed.
  if (field !== undefined) {
    Reflect.defineProperty(error, field, { value: failure, configurable: true, writable: true });
  }
}
