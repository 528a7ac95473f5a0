interface ExtendCaller {
  /** The last call with an extension of the lease before: it does not count. */
  readonly after: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** Callers of `extend` of one handle, each of which waits for a call that left after it asked. */
export class ExtendCallers {
  #callers: ExtendCaller[] = [];

  add(after: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#callers.push({ after, resolve, reject });
    });
  }

  /** `number`: of the call that settles them; who asked after it was sent waits for the next. */
  settle(number: number, error?: Error): void {
    const callers = this.#callers;
    this.#callers = callers.filter(({ after }) => after >= number);
    for (const { after, resolve, reject } of callers) {
      if (after >= number) continue;
      if (error === undefined) resolve();
      else reject(error);
    }
  }
}
