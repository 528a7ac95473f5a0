/** One permit, or several as one. */
interface Holding extends AsyncDisposable {
  release(): Promise<unknown>;
  /** From now on the handle notes whether its holder checks it. */
  markUnchecked(): void;
  /** Its permits that no holder has checked since. */
  readonly unchecked: readonly { reportLoss(): Promise<void> }[];
}

/**
 * Work that runs under a permit.
 * @inline
 */
export type Task<Held, T> = (handle: Held) => T | Promise<T>;

/**
 * Runs `fn` with `handle` and releases it whatever happens. Settles as `fn` does. A release that
 * fails beside an error of `fn` becomes that error's `cause`, or its `suppressed` where it already
 * has a cause. Where that cannot be, and where `fn` gave a result, disposing of the handle reports
 * it by a warning, and the release is retried. Where `fn` ends well without a look at a permit that
 * was lost meanwhile, its semaphore emits a `warning`: nothing else shows it.
 */
export async function runHolding<H extends Holding, T>(handle: H, fn: Task<H, T>): Promise<T> {
  handle.markUnchecked();
  let result: T;
  try {
    result = await fn(handle);
  } catch (error) {
    await handle.release().catch(async (failure: unknown) => {
      if (!attach(error, failure)) await handle[Symbol.asyncDispose]();
    });
    throw error;
  }
  const { unchecked } = handle;
  await handle[Symbol.asyncDispose]();
  for (const each of unchecked) await each.reportLoss();
  return result;
}

/** False where the error has no field for it. */
function attach(error: unknown, failure: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const field = (['cause', 'suppressed'] as const).find(
    (name) => Reflect.get(error, name) === undefined,
  );
  const property = { value: failure, configurable: true, writable: true };
  // Unlike `Object.defineProperty`, it does not throw where the error cannot be changed.
  return field !== undefined && Reflect.defineProperty(error, field, property);
}
