import { onceAborted } from '../core/abort-fanout.js';
import { quoted } from '../arguments/shown.js';
import { rangeError } from '../arguments/validation.js';
import { HandleLostError } from '../errors.js';
import type { Handle } from '../handle.js';
import { LossEmitter } from '../events.js';
import type { Part } from './ordered-acquisition.js';

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
  readonly #abort = new AbortController();
  #lost: HandleLostError | undefined;
  #watching = false;
  #release: Promise<boolean> | undefined;

  /** @internal `taken`: each part once, in the order in which they were taken. */
  constructor(name: string, given: Iterable<Part>, taken: Iterable<Part>) {
    super();
    this.name = name;
    this.handles = [...given].flatMap(({ handle }) => handle ?? []);
    this.#parts = [...taken].flatMap(({ handle }) => handle ?? []);
    this.watchListeners();
  }

  /** Aborts with the `HandleLostError` of the first permit that is lost. */
  get signal(): AbortSignal {
    this.#watch();
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
    for (const part of this.#parts) {
      try {
        part.assertHeld();
      } catch (error) {
        if (!(error instanceof HandleLostError)) throw error;
        const isReleasedHere = error.reason === 'released' && this.#release !== undefined;
        if (!isReleasedHere) throw this.#noteLoss(part, error);
      }
    }
    if (this.#release !== undefined) throw new HandleLostError(this.name, '', 'released');
  }

  /**
   * Extends all tickets to their full ttl now, beside the extensions that happen by themselves.
   * @throws {HandleLostError} when one of them is gone
   * @throws {BackendError} when a backend refuses; the others are extended all the same
   */
  async extend(): Promise<void> {
    this.assertHeld();
    const failed = await failuresOf(this.#parts, (part) => part.extend());
    const lost = failed.find(({ error }) => error instanceof HandleLostError);
    if (lost?.error instanceof HandleLostError) throw this.#noteLoss(lost.part, lost.error);
    for (const { error } of failed) throw error;
  }

  /**
   * Gives all permits back, in the reverse of the order in which they were taken; they end in one
   * turn, so that a backend that hangs holds up none of the others. Resolves with true when all
   * were still held. Idempotent.
   * @throws {AggregateError} of the errors of the permits that could not be given back; see
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
    const warn = () => Promise.all(this.#parts.map((part) => part[Symbol.asyncDispose]()));
    await this.release().catch(warn);
  }

  /** @internal */
  forgetLooks(): void {
    for (const part of this.#parts) part.forgetLooks();
  }

  /** @internal */
  get unlooked(): readonly Handle[] {
    return this.#parts.flatMap((part) => part.unlooked);
  }

  async #doRelease(): Promise<boolean> {
    let allHeld = true;
    const failed = await failuresOf(this.#parts.toReversed(), async (part) => {
      if (!(await part.release())) allHeld = false;
    });
    this.onReleased();
    if (failed.length === 0) return allHeld;
    const count = `${failed.length} of ${this.#parts.length}`;
    const names = failed.map(({ part }) => quoted(part.name)).join(', ');
    throw new AggregateError(
      failed.map(({ error }) => error),
      `releasing ${count} permits failed: ${names}; each is retried, and expires within its ttl at the latest`,
    );
  }

  // From the first look on only: a listener for a loss keeps all permits extended, also when the
  // handle itself was dropped.
  #watch(): void {
    if (this.#watching) return;
    this.#watching = true;
    for (const part of this.#parts) {
      const { signal } = part;
      const onLost = (): void => {
        if (!(signal.reason instanceof HandleLostError)) return;
        const loss = this.#noteLoss(part, signal.reason);
        this.#abort.abort(loss);
        this.emitLost(loss);
      };
      if (signal.aborted) onLost();
      else onceAborted(signal, onLost);
    }
  }

  /** Only the first loss is reported, with the part that was lost. */
  #noteLoss(part: Handle, { reason, cause }: HandleLostError): HandleLostError {
    if (this.#lost !== undefined) return this.#lost;
    const loss = new HandleLostError(part.name, part.id, reason, cause, this.describePart(part));
    if (reason !== 'released') this.#lost = loss;
    return loss;
  }

  /** @internal Which one it is, for messages. */
  protected describePart(part: Handle): string {
    return `handle ${this.handles.indexOf(part) + 1} of ${this.handles.length}`;
  }

  /** @internal */
  protected override onLossListener(): HandleLostError | undefined {
    this.#watch();
    return this.#lost;
  }
}

/** Does it with all parts in one turn. */
async function failuresOf(parts: readonly Handle[], call: (part: Handle) => Promise<void>) {
  const outcomes = await Promise.allSettled(parts.map((part) => call(part)));
  return parts.flatMap((part, i) => {
    const outcome = outcomes[i];
    return outcome?.status === 'rejected' ? [{ part, error: outcome.reason as unknown }] : [];
  });
}

/** What the caller holds for several keys of a `KeyedMutex`. */
export class KeyedHandle extends CompositeHandle {
  /** Each once, in the order in which they were asked for. */
  readonly keys: readonly string[];
  readonly #partOf: ReadonlyMap<string, Part>;

  /** @internal As the `CompositeHandle`'s; `partOf`: by key. */
  constructor(name: string, partOf: ReadonlyMap<string, Part>, taken: Iterable<Part>) {
    super(name, partOf.values(), taken);
    this.keys = [...partOf.keys()];
    this.#partOf = partOf;
  }

  /**
   * The handle of one key, which has its fencing token. With stripes several keys may share one.
   * @throws {RangeError} when the handle was acquired without this key
   */
  handleOf(key: string): Handle {
    const handle = this.#partOf.get(key)?.handle;
    if (handle !== undefined) return handle;
    throw rangeError(`key: expected one of this handle's, got ${quoted(key)}`);
  }

  /** @internal Stripes have names without their keys. */
  protected override describePart(part: Handle): string {
    const keys = this.keys.filter((key) => this.#partOf.get(key)?.handle === part);
    return `of ${keys.length === 1 ? 'key' : 'keys'} ${keys.map((key) => JSON.stringify(key)).join(', ')}`;
  }
}
