import { onceAborted } from '../core/abort-fanout.js';
import { quoted } from '../arguments/shown.js';
import { rangeError } from '../arguments/validation.js';
import { HandleLostError } from '../errors.js';
import type { Handle } from '../handle.js';
import { LossEmitter } from '../events.js';
import type { Share } from './ordered-acquisition.js';

/**
 * Several handles as one: held while all of them are held, lost with the first handle that is lost.
 * The other handles then stay held until `release()`, because their work must stop first. A
 * composite of no handles holds nothing and is never lost.
 */
export class CompositeHandle extends LossEmitter {
  /** The names of its semaphores, joined by commas; for keys, the name of their `KeyedMutex`. */
  readonly name: string;
  /**
   * A handle for each semaphore that was asked for, in that order. A semaphore that was given twice
   * has the same handle twice, with the permits of both.
   */
  readonly handles: readonly Handle[];
  /** Each handle once, in the order in which redsem took them. */
  readonly #taken: readonly Handle[];
  /** Made by the first use of `signal` or `lost`. */
  #abort: AbortController | undefined;
  #lost: HandleLostError | undefined;
  #release: Promise<boolean> | undefined;

  /** @internal `taken`: each share once, in the order in which redsem took them. */
  constructor(name: string, given: Iterable<Share>, taken: Iterable<Share>) {
    super();
    this.name = name;
    this.handles = [...given].flatMap(({ handle }) => handle ?? []);
    this.#taken = [...taken].flatMap(({ handle }) => handle ?? []);
    this.watchListeners();
  }

  /** Aborts with the `HandleLostError` of the first permit that is lost. */
  get signal(): AbortSignal {
    return this.#watch().signal;
  }

  /**
   * Whether all permits are still valid. It reads the clocks, so it is right even after a stall of
   * the event loop.
   */
  get held(): boolean {
    // It looks also behind a lost permit: `use` warns of each permit that was not checked.
    return this.expiresIn > 0;
  }

  /**
   * For how many milliseconds all permits are valid if no further extension succeeds; 0 when a
   * permit is lost, or released.
   */
  get expiresIn(): number {
    if (this.#release !== undefined) return 0;
    // Not with spread arguments, for which the stack has room for some 100 000.
    return this.#taken.reduce((least, { expiresIn }) => Math.min(least, expiresIn), Infinity);
  }

  /**
   * @throws {HandleLostError} when a permit is no longer valid; with reason `released` after
   *   `release()`.
   */
  assertHeld(): void {
    if (this.held) return;
    if (this.#lost !== undefined) throw this.#lost;
    for (const handle of this.#taken) {
      try {
        handle.assertHeld();
      } catch (error) {
        if (!(error instanceof HandleLostError)) throw error;
        const isReleasedHere = error.reason === 'released' && this.#release !== undefined;
        if (!isReleasedHere) throw this.#noteLoss(handle, error);
      }
    }
    throw new HandleLostError(this.name, '', 'released');
  }

  /**
   * Extends all tickets to their full ttl now, in addition to the extensions that redsem makes.
   * @throws {HandleLostError} when a ticket is gone
   * @throws {BackendError} when a backend refuses; the other tickets are extended all the same
   */
  async extend(): Promise<void> {
    this.assertHeld();
    const failed = await failuresOf(this.#taken, (handle) => handle.extend());
    const lost = failed.find(({ error }) => error instanceof HandleLostError);
    if (lost?.error instanceof HandleLostError) throw this.#noteLoss(lost.handle, lost.error);
    for (const { error } of failed) throw error;
  }

  /**
   * Gives all permits back, in the reverse of the order in which redsem took them. All releases
   * leave in one turn of the event loop, so a backend that hangs does not delay the others.
   * Resolves with true when all permits were still held. Idempotent.
   * @throws {AggregateError} of the errors of the permits that were not given back; see
   *   `Handle.release`
   */
  release(): Promise<boolean> {
    this.#release ??= this.#doRelease();
    return this.#release;
  }

  /**
   * Releases. Never rejects: when a release fails, redsem retries it until the ticket has expired,
   * and the semaphore emits a `warning`.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    const warn = () => Promise.all(this.#taken.map((handle) => handle[Symbol.asyncDispose]()));
    await this.release().catch(warn);
  }

  /** @internal */
  markUnchecked(): void {
    for (const handle of this.#taken) handle.markUnchecked();
  }

  /** @internal */
  get unchecked(): readonly Handle[] {
    return this.#taken.flatMap((handle) => handle.unchecked);
  }

  async #doRelease(): Promise<boolean> {
    let allHeld = true;
    const failed = await failuresOf(this.#taken.toReversed(), async (handle) => {
      if (!(await handle.release())) allHeld = false;
    });
    this.onReleased();
    if (failed.length === 0) return allHeld;
    const count = `${failed.length} of ${this.#taken.length}`;
    const names = failed.map(({ handle }) => quoted(handle.name)).join(', ');
    throw new AggregateError(
      failed.map(({ error }) => error),
      `releasing ${count} permits failed: ${names}; each is retried, and expires within its ttl at the latest`,
    );
  }

  // Only after the first use of `signal` or `lost`: a listener for a loss keeps all permits
  // extended, also when the caller drops the handle.
  #watch(): AbortController {
    if (this.#abort !== undefined) return this.#abort;
    const abort = (this.#abort = new AbortController());
    for (const handle of this.#taken) {
      const { signal } = handle;
      const onLost = (): void => {
        if (!(signal.reason instanceof HandleLostError)) return;
        const loss = this.#noteLoss(handle, signal.reason);
        abort.abort(loss);
        this.emitLost(loss);
      };
      if (signal.aborted) onLost();
      else onceAborted(signal, onLost);
    }
    return abort;
  }

  /** The composite reports only the first loss, with the handle that was lost. */
  #noteLoss(lost: Handle, { reason, cause }: HandleLostError): HandleLostError {
    if (this.#lost !== undefined) return this.#lost;
    const which = this.describeHandle(lost);
    const loss = new HandleLostError(lost.name, lost.id, reason, cause, which);
    if (reason !== 'released') this.#lost = loss;
    return loss;
  }

  /** @internal For messages. */
  protected describeHandle(handle: Handle): string {
    return `handle ${this.handles.indexOf(handle) + 1} of ${this.handles.length}`;
  }

  /** @internal */
  protected override onLossListener(): HandleLostError | undefined {
    this.#watch();
    return this.#lost;
  }
}

/** Calls all handles in one turn. */
async function failuresOf(handles: readonly Handle[], call: (handle: Handle) => Promise<void>) {
  const outcomes = await Promise.allSettled(handles.map((handle) => call(handle)));
  return handles.flatMap((handle, i) => {
    const outcome = outcomes[i];
    return outcome?.status === 'rejected' ? [{ handle, error: outcome.reason as unknown }] : [];
  });
}

/** The handle of several keys of a `KeyedMutex`. */
export class KeyedHandle extends CompositeHandle {
  /** Each key once, in the order in which the caller named them. */
  readonly keys: readonly string[];
  readonly #shareOf: ReadonlyMap<string, Share>;

  /** @internal `shareOf`: by key. */
  constructor(name: string, shareOf: ReadonlyMap<string, Share>, taken: Iterable<Share>) {
    super(name, shareOf.values(), taken);
    this.keys = [...shareOf.keys()];
    this.#shareOf = shareOf;
  }

  /**
   * The handle of a key, which has its fencing token. With stripes several keys may share a handle.
   * @throws {RangeError} when the handle was acquired without this key
   */
  handleOf(key: string): Handle {
    const handle = this.#shareOf.get(key)?.handle;
    if (handle !== undefined) return handle;
    throw rangeError(`key: expected one of this handle's, got ${quoted(key)}`);
  }

  /** @internal Stripes have names without their keys. */
  protected override describeHandle(handle: Handle): string {
    const keys = this.keys.filter((key) => this.#shareOf.get(key)?.handle === handle);
    return `of ${keys.length === 1 ? 'key' : 'keys'} ${keys.map((key) => JSON.stringify(key)).join(', ')}`;
  }
}
