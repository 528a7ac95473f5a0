/**
 * When the garbage collector runs differs from run to run. So in the simulator's process weak
 * references are strong, and nobody hears of what was collected. To be imported before anything of
 * src.
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
