import { onceAborted } from '../calling/abort-fanout.js';
import { HandleLostError } from '../errors.js';
import type { Handle } from '../handle.js';
import { LossEmitter } from '../loss-emitter.js';

/**
 * Several handles as one: held while all of them are, lost with the first that is. The others then
 * stay held until `release()`, because the work that they cover has yet to stop. One of no handles
 * holds nothing and is never lost.
 */
export class CompositeHandle extends LossEmitter {
  /** The names of its semaphores, joined by commas; of keys: the name of their `KeyedMutex`. */
  readonly name: string;
  /**
   * One for each semaphore that was asked for, in that order. One given twice has one handle, with
   * the permits of both.
   */
  readonly handles: readonly Handle[];
  /** Each once, in the order in which they were taken. */
  readonly #parts: readonly Handle[];
  #abort: AbortController | undefined;
  #lost: HandleLostError | undefined;
  #watching = false;
  #release: Promise<boolean> | undefined;

  /** @internal `parts`: each handle once, in the order in which they were taken. */
  constructor(name: string, handles: readonly Handle[], parts: readonly Handle[]) {
    super();
    this.name = name;
    this.handles = handles;
    this.#parts = parts;
    this.watchListeners();
  }

  /** Aborts with the `HandleLostError` of the first permit that is lost. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      this.#watch();
      if (this.#lost !== undefined) this.#abort.abort(this.#lost);
    }
    return this.#abort.signal;
  }

  /**
   * Whether all permits are still valid: reads the clocks, so it is right even after a stall of the
   * event loop.
   */
  get held(): boolean {
    return this.#release === undefined && this.#parts.every(({ held }) => held);
  }

  /**
   * For how many milliseconds all of them are still valid if no other extension succeeds; 0 when
   * one is lost, or released.
   */
  get expiresIn(): number {
    if (this.#release !== undefined) return 0;
    return Math.min(Infinity, ...this.#parts.map(({ expiresIn }) => expiresIn));
  }

  /**
   * @throws {HandleLostError} when one of the permits is no longer valid; with reason `released`
   *   after `release()`.
   */
  assertHeld(): void {
    if (this.#lost !== undefined) throw this.#lost;
    for (const part of this.#parts) part.assertHeld();
    if (this.#release !== undefined) throw new HandleLostError(this.name, '', 'released');
  }

  /**
   * Extends all tickets to their full ttl now, beside the extensions that happen by themselves.
   * @throws {HandleLostError} when one of them is gone
   * @throws {BackendError} when a backend refuses; the others are extended all the same
   */
  async extend(): Promise<void> {
    this.assertHeld();
    const outcomes = await Promise.allSettled(this.#parts.map((part) => part.extend()));
    const errors = errorsOf(outcomes);
    const loss = errors.find((error) => error instanceof HandleLostError);
    // Where several parts are lost, the one that `lost` reported.
    if (errors.length > 0) throw this.#lost ?? loss ?? errors[0];
  }

  /**
   * Gives all permits back, in the reverse of the order in which they were taken; they end in one
   * turn, so that a backend that hangs holds up none of the others. Resolves with true when all
   * were still held. Idempotent.
   * @throws {AggregateError} of the errors of those that could not be given back; see
   *   `Handle.release`
   */
  release(): Promise<boolean> {
    this.#release ??= this.#doRelease();
    return this.#release;
  }

  /**
   * Releases. Never rejects: permits that cannot be given back now are retried, and at worst
   * expire; their semaphores emit a `warning`.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.release();
    } catch {
      await Promise.all(this.#parts.map((part) => part[Symbol.asyncDispose]()));
    }
  }

  async #doRelease(): Promise<boolean> {
    const outcomes = await Promise.allSettled(
      this.#parts.toReversed().map((part) => part.release()),
    );
    this.emitReleased();
    const errors = errorsOf(outcomes);
    if (errors.length > 0) {
      const count = `${errors.length} of ${outcomes.length}`;
      throw new AggregateError(errors, `releasing ${count} permits failed`);
    }
    return outcomes.every((outcome) => outcome.status === 'fulfilled' && outcome.value);
  }

  // From the first look on only: a listener for a loss keeps all permits extended, also when the
  // handle itself was dropped.
  #watch(): void {
    if (this.#watching) return;
    this.#watching = true;
    for (const { signal } of this.#parts) {
      if (signal.aborted) this.#onLost(signal.reason);
      else onceAborted(signal, () => this.#onLost(signal.reason));
    }
  }

  #onLost(error: unknown): void {
    if (this.#lost !== undefined || !(error instanceof HandleLostError)) return;
    this.#lost = error;
    this.#abort?.abort(error);
    this.emitLost(error);
  }

  /** @internal */
  protected override onLossListener(): HandleLostError | undefined {
    this.#watch();
    return this.#lost;
  }
}

function errorsOf(outcomes: readonly PromiseSettledResult<unknown>[]): unknown[] {
  return outcomes.flatMap((outcome): unknown[] =>
    outcome.status === 'rejected' ? [outcome.reason] : [],
  );
}
