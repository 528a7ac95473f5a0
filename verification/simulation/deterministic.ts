/**
 * The garbage collector runs at other moments in each run. So in the simulator's process weak
 * references are strong, and no finalizer is called. To be imported before anything of src.
 */
class StrongRef<T extends object> {
  readonly [Symbol.toStringTag] = 'WeakRef';
  readonly #target: T;

  constructor(target: T) {
    this.#target = target;
  }

  deref(): T {
    return this.#target;
  }
}

class SilentRegistry {
  readonly [Symbol.toStringTag] = 'FinalizationRegistry';

  register(): void {}

  unregister(): boolean {
    return false;
  }
}

Object.assign(globalThis, { WeakRef: StrongRef, FinalizationRegistry: SilentRegistry });

/**
 * To be called, so that a bundler cannot leave this file out: without it the same seed is not
 * always the same run.
 */
export function assertDeterministic(): void {
  if (WeakRef.name !== StrongRef.name)
    throw new Error('weak references depend on the garbage collector');
}
