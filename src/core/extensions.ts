import type { Call } from './batcher.js';

interface Caller {
  /** The last call with an extension before it asked: that does not count. */
  readonly after: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * The extensions of one lease, from the first on, and the callers of `extend` that wait for one.
 */
export class Extensions {
  /** The next one has not left yet. */
  isGathering = false;
  /** How many failed in a row. */
  failures = 0;
  /** The call of the last one, until it is answered; and its number. */
  #call: Call | undefined;
  #number = 0;
  #callers: Caller[] = [];

  get areUnderWay(): boolean {
    return this.isGathering || this.#call !== undefined;
  }

  leave(call: Call): void {
    this.isGathering = false;
    this.#call = call;
    this.#number = call.number;
  }

  /** A call was answered, or has failed. */
  endCall(call: Call): void {
    if (this.#call === call) this.#call = undefined;
  }

  next(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#callers.push({ after: this.#number, resolve, reject });
    });
  }

  /** A call was confirmed: a caller that asked after it was sent waits for the next. */
  onConfirmed(call: Call): void {
    const callers = this.#callers;
    this.#callers = callers.filter(({ after }) => after >= call.number);
    for (const { after, resolve } of callers) if (after < call.number) resolve();
  }

  /** An error with its stack costs more than all else here: it is made for callers that wait. */
  end(error: () => Error): void {
    const callers = this.#callers;
    this.#callers = [];
    for (const { reject } of callers) reject(error());
  }
}
