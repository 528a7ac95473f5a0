/** What may become of one call into a client. */
export type Way =
  'throws' | 'rejects' | 'never settles' | 'settles twice' | 'throws when looked at';

export const ways: readonly Way[] = [
  'throws',
  'rejects',
  'never settles',
  'settles twice',
  'throws when looked at',
];

/** Which members of an object go wrong, and how, while it is on. */
export class Mischief {
  readonly #way: Way;
  readonly #names: readonly string[];
  on = false;

  constructor(way: Way, names: readonly string[]) {
    this.#way = way;
    this.#names = names;
  }

  /** `object`, whose members go wrong; so do those of its copies. */
  in<T extends object>(object: T): T {
    return new Proxy(object, {
      get: (target, name) => {
        const wrong = this.on && typeof name === 'string' && this.#names.includes(name);
        if (wrong && this.#way === 'throws when looked at')
          throw new Error(`${name} was looked at`);
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        const call = (...args: unknown[]): unknown => Reflect.apply(value, target, args);
        if (wrong) return (...args: unknown[]) => this.#goWrong(name, () => call(...args));
        if (name !== 'duplicate') return call;
        return (...args: unknown[]) => this.#inCopy(call(...args));
      },
    });
  }

  #inCopy(copy: unknown): unknown {
    return typeof copy === 'object' && copy !== null ? this.in(copy) : copy;
  }

  #goWrong(name: string, call: () => unknown): unknown {
    const error = new Error(`${name} went wrong`);
    if (this.#way === 'throws') throw error;
    if (this.#way === 'rejects') return Promise.reject(error);
    if (this.#way === 'never settles') return new Promise(() => {});
    return new Twice(call(), error);
  }
}

/** Resolves, resolves again, and rejects. */
class Twice {
  readonly #result: unknown;
  readonly #error: Error;

  constructor(result: unknown, error: Error) {
    this.#result = result;
    this.#error = error;
  }

  // oxlint-disable-next-line unicorn/no-thenable
  then<R, E>(
    onResult?: ((value: unknown) => R | PromiseLike<R>) | null,
    onError?: ((error: unknown) => E | PromiseLike<E>) | null,
  ): Promise<R | E> {
    const settled = Promise.resolve(this.#result).then(onResult, onError);
    void Promise.resolve(this.#result).then(onResult, onError);
    onError?.(this.#error);
    return settled;
  }
}
