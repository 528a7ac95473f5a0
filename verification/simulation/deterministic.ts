/**
 * The garbage collector runs at other moments in each run. So in the simulator's process weak
 * references are strong, and no finalizer is called. To be imported before anything of src.
 */
class StrongRef<T extends object> {
  readonly deref: () => T;

  constructor(target: T) {
    this.deref = () => target;
  }
}

class SilentRegistry {
  readonly register = (): void => undefined;
  readonly unregister = (): boolean => false;
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
