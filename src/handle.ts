import { inspect, type InspectOptions } from 'node:util';
import { resolveCosts } from './arguments/resolve.js';
import { checkOptions } from './arguments/known-options.js';
import { quoted } from './arguments/shown.js';
import { refuseWithoutQueue } from './arguments/target.js';
import { checkType } from './arguments/validation.js';
import { checkTicketId } from './backends/ticket-id.js';
import type { HolderState } from './backends/backend.js';
import type { Lease } from './core/lease.js';
import { describe } from './error-causes.js';
import type { HandleLostError } from './errors.js';
import { LossEmitter } from './events.js';

/** A ticket as plain data: with `adopt`, another process takes it over, under a higher token. */
export interface HandleData extends Pick<HolderState, 'id' | 'slots' | 'fencingToken'> {
  /** The semaphore's name. */
  readonly name: string;
}

/** The options of `Handle.release`. */
export interface ReleaseOptions {
  /**
   * The units that the work has spent of each budget, by name: integers, minimum 0. They replace
   * the `cost`.
   */
  readonly spent?: Readonly<Record<string, number>> | undefined;
}

/** Emits a warning of the semaphore; false if no listener gets it. */
export type Warn = (code: WarningCode, message: string, cause?: unknown) => boolean;
type WarningCode = 'LOST_UNNOTICED' | 'RELEASE_FAILED';

// The semaphore keeps a held lease in memory; only the caller keeps its handle. When the caller
// drops the handle without a release, redsem stops extending the ticket, and the ticket expires.
const collected = new FinalizationRegistry<Lease>((lease) => {
  if (lease.stage !== 'held') return;
  lease.letExpire();
  process.emitWarning(
    `a handle of ${quoted(lease.name)} was garbage collected without release(); ` +
      `its permit comes back within ${lease.ttl} ms`,
    { type: 'RedsemWarning', code: 'REDSEM_HANDLE_DROPPED' },
  );
});

/** The caller's object for a ticket. Made by `acquire`, `tryAcquire`, `use` and `adopt`. */
export class Handle extends LossEmitter {
  readonly #lease: Lease;
  readonly #warn: Warn;
  /** Whether the holder has checked its permit since the last `markUnchecked`. */
  #isChecked = false;
  #abort: AbortController | undefined;
  #release: Promise<boolean> | undefined;

  /** @internal */
  static of(lease: Lease, warn: Warn): Handle {
    return new Handle(lease, warn);
  }

  private constructor(lease: Lease, warn: Warn) {
    super();
    this.#lease = lease;
    this.#warn = warn;
    lease.observer = this;
    // The lease is lost already, so no observer hears of it; listeners that are added now do.
    if (lease.loss !== undefined) this.watchListeners();
  }

  /** The ticket's id. */
  get id(): string {
    return this.#lease.id;
  }

  /** The semaphore's name. */
  get name(): string {
    return this.#lease.name;
  }

  /** The first of `slots`. */
  get slot(): number {
    return this.#lease.slots[0] ?? 0;
  }

  /**
   * A number from 0 to limit - 1 for each permit, the lowest free number first. No other live
   * ticket has the same number.
   */
  get slots(): readonly number[] {
    return this.#lease.slots;
  }

  /**
   * A safe integer that rises with every grant of this semaphore. With a limit above 1 there are
   * other valid holders, so a guarded resource compares tokens per slot: it refuses a write with
   * `(slot, fencingToken)` when it has seen a higher token for that slot. After M. Kleppmann, "How
   * to do distributed locking", 2016.
   */
  get fencingToken(): number {
    return this.#lease.fencingToken;
  }

  /** Aborts when the permit is lost, with the `HandleLostError` as its reason. */
  get signal(): AbortSignal {
    this.#isChecked = true;
    this.#lease.check();
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      this.#keepAlive();
      if (this.#lease.loss !== undefined) this.#abort.abort(this.#lease.loss);
    }
    return this.#abort.signal;
  }

  /**
   * Whether the permit is still valid. It reads the clocks, so it is right even after a stall of
   * the event loop. Once false, it stays false.
   */
  get held(): boolean {
    return this.expiresIn > 0;
  }

  /**
   * For how many milliseconds the permit is valid if no further extension succeeds; 0 when lost or
   * released.
   */
  get expiresIn(): number {
    this.#isChecked = true;
    return this.#lease.check();
  }

  /**
   * @throws {HandleLostError} when the permit is no longer valid; with reason `released` after
   *   `release()`.
   */
  assertHeld(): void {
    if (!this.held) throw this.#lease.lossError();
  }

  /**
   * Extends the ticket to its full ttl now, in addition to the extensions that redsem makes.
   * @throws {HandleLostError} when the ticket is gone, or its lease ran out before an extension was
   *   confirmed
   * @throws {BackendError} when the backend refuses; the lease runs on, and redsem retries the
   *   extension
   */
  async extend(): Promise<void> {
    this.assertHeld();
    await this.#lease.extend();
  }

  /**
   * Gives the permit back, settles the spent units of budgets, and wakes the next waiter. Resolves
   * with true when the ticket was still there. Resolves with false when the ticket was lost before,
   * when its lease ran out while the backend was away, or when the client sent the release twice
   * because its connection broke. You may call it twice.
   * @throws {BackendError} when the backend refuses, or does not answer within min(ttl, 5000) ms
   *   and the lease still runs; redsem retries the release in the background until the ticket has
   *   expired
   * @throws {TypeError | RangeError} for wrong options: nothing is released
   * @param options `spent`: the units that the work has spent of each budget, by name; they replace
   *   the `cost`
   */
  release(options?: ReleaseOptions): Promise<boolean> {
    try {
      if (options !== undefined) checkOptions(options, 'spent');
      if (options?.spent !== undefined) this.spent = options.spent;
    } catch (error) {
      return Promise.reject(error);
    }
    // The result of a release says whether the permit was held.
    this.#isChecked = true;
    // The listeners are called when the release has ended, so the release keeps the handle in
    // memory until then.
    this.#keepAlive();
    return (this.#release ??= this.#lease.release());
  }

  /**
   * The units that the work has spent of each budget, by name. The first release settles them; a
   * value that is set after its call changes nothing. For a budget that `spent` does not name, the
   * `cost` counts.
   */
  get spent(): Readonly<Record<string, number>> | undefined {
    return this.#lease.spent;
  }

  /** @throws {TypeError | RangeError} when a value is no whole number of units: nothing changes */
  set spent(spent: Readonly<Record<string, number>> | undefined) {
    refuseWithoutQueue(this.#lease.link.backend, { spent });
    const costs = resolveCosts('spent', spent);
    // A release that is sent later, or again, settles the same units.
    if (this.#release === undefined) this.#lease.spent = costs;
  }

  /** The ticket's data for a message to another process, which takes it over by `adopt`. */
  toJSON(): HandleData {
    // A holder that passes its ticket to another process expects to lose it.
    this.#isChecked = true;
    const { id, slots, fencingToken } = this.#lease;
    return { name: this.name, id, slots, fencingToken };
  }

  /**
   * Releases. Never rejects: when a release fails, redsem retries it until the ticket has expired,
   * and the semaphore emits a `warning`.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release().catch((error: unknown) => {
      const message = `a permit of ${quoted(this.name)} is not given back yet: ${describe(error)}`;
      this.#warn('RELEASE_FAILED', message, error);
    });
  }

  /** @internal The getters count as a look at the permit; this text does not. */
  [inspect.custom](_depth: number, options: InspectOptions): string {
    const { name, slots, remaining } = this.#lease;
    const shown = { name, held: remaining > 0, slot: slots[0], expiresIn: remaining };
    return `${this.constructor.name} ${inspect(shown, options)}`;
  }

  /** @internal */
  markUnchecked(): void {
    this.#isChecked = false;
  }

  /** @internal */
  get unchecked(): readonly Handle[] {
    // A lease that has run out is lost from now on, and not by its release.
    this.#lease.check();
    return this.#isChecked || this.listenerCount('lost') > 0 ? [] : [this];
  }

  /** @internal Once it is released. */
  async reportLoss(): Promise<void> {
    if (await this.release().catch(() => true)) return;
    const { goneBecause: reason } = this.#lease;
    if (reason === undefined) return;
    this.#warn(
      'LOST_UNNOTICED',
      `a permit of ${quoted(this.name)} was lost (${reason}) while the function of use() ran, and the function did not look: let it read handle.signal or call assertHeld()`,
    );
  }

  /**
   * @internal Called by the lease's first extension: from then on only the caller's references keep
   *   the handle in memory.
   */
  onExtended(): void {
    const isAwaited = this.#abort !== undefined || this.listenerCount('lost') > 0;
    if (isAwaited || this.#lease.observer instanceof WeakRef) return;
    this.#lease.observer = new WeakRef(this);
    collected.register(this, this.#lease, this);
    this.watchListeners();
  }

  /** @internal */
  onLost(error: HandleLostError): void {
    // Its holder has stopped.
    if (this.#release !== undefined) return;
    this.#isChecked ||= this.listenerCount('lost') > 0;
    this.#abort?.abort(error);
    this.watchListeners();
    this.emitLost(error);
  }

  #keepAlive(): void {
    if (!(this.#lease.observer instanceof WeakRef)) return;
    collected.unregister(this);
    this.#lease.observer = this;
  }

  /** @internal */
  protected override onLossListener(): HandleLostError | undefined {
    this.#isChecked = true;
    this.#keepAlive();
    return this.#lease.loss;
  }
}

/** The part of a `Handle` that code with a permit uses. Your fakes can implement it. */
export interface HandleLike
  extends
    AsyncDisposable,
    Pick<Handle, 'id' | 'name' | 'slot' | 'slots' | 'fencingToken' | 'signal'>,
    Pick<Handle, 'held' | 'expiresIn' | 'assertHeld' | 'extend' | 'release' | 'toJSON'> {
  /** As `Handle.on`. */
  on(event: 'lost', listener: (error: HandleLostError) => void): unknown;
}

/**
 * Checks the data of a ticket, which another process wrote.
 * @throws {TypeError} naming the field, the expectation and the value
 */
export function checkHandleData(data: HandleData, name: string): HandleData {
  checkType(typeof data === 'object' && data !== null, 'ticket', 'the data of a handle', data);
  const { id, slots, fencingToken } = data;
  checkType(data.name === name, 'ticket.name', `${quoted(name)}, this semaphore`, data.name);
  checkTicketId(id, 'ticket.id');
  const areSlots = Array.isArray(slots) && slots.length > 0 && slots.every(Number.isSafeInteger);
  checkType(areSlots, 'ticket.slots', 'at least one slot number', slots);
  const isToken = Number.isSafeInteger(fencingToken);
  checkType(isToken, 'ticket.fencingToken', 'a safe integer', fencingToken);
  return data;
}
