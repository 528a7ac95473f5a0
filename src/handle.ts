import { resolveCosts } from './arguments/budgets.js';
import { checkOptions, optionNames } from './arguments/known-options.js';
import { quoted, showAs } from './arguments/shown.js';
import { refuseWithoutQueue } from './arguments/target.js';
import { checkType } from './arguments/validation.js';
import { checkTicketId } from './backends/ticket-id.js';
import type { Ticket } from './backends/backend.js';
import type { Lease } from './core/lease.js';
import { describe } from './error-causes.js';
import type { HandleLostError } from './errors.js';
import { LossEmitter } from './events.js';
import type { SemaphoreWarning } from './semaphore-types.js';

/** A ticket as plain data: with `adopt`, another process takes it over, under a higher token. */
export interface HandleData extends Ticket {
  /** The semaphore's name. */
  readonly name: string;
  /** The ticket's id. */
  readonly id: string;
}

/** The options of `Handle.release`. */
export interface ReleaseOptions {
  /** Units of each budget that it names, in place of the `cost`: integers, minimum 0. */
  readonly spent?: Readonly<Record<string, number>> | undefined;
}

const RELEASE_OPTIONS = optionNames('spent');

/** Emits a warning of the semaphore; false where no listener gets it. */
export type Warn = (code: SemaphoreWarning['code'], message: string, cause?: unknown) => boolean;

// A held lease is kept by its semaphore, its handle by the caller alone. A handle that was
// dropped without release has no listener for a loss: its ticket is no longer extended and expires
// by itself.
const dropped = new FinalizationRegistry<Lease>((lease) => {
  if (lease.stage !== 'held') return;
  lease.letExpire();
  process.emitWarning(
    `a handle of ${quoted(lease.name)} was garbage collected without release(); ` +
      `its permit comes back within ${lease.ttl} ms`,
    { type: 'RedsemWarning', code: 'REDSEM_HANDLE_DROPPED' },
  );
});

/** What the caller holds for one ticket. Made by `acquire`, `tryAcquire`, `use` and `adopt`. */
export class Handle extends LossEmitter {
  static {
    // No look at the permit, as the getters are.
    showAs(Handle, (handle) => {
      const { name, slots, remaining } = handle.#lease;
      return { name, held: remaining > 0, slot: slots[0], expiresIn: remaining };
    });
  }

  readonly #lease: Lease;
  readonly #warn: Warn;
  /** Whether the holder has asked whether it is held, since the last `forgetLooks`. */
  #isChecked = false;
  #abort: AbortController | undefined;
  #release: Promise<boolean> | undefined;
  #weak = false;

  /** @internal */
  static of(lease: Lease, warn: Warn): Handle {
    return new Handle(lease, warn);
  }

  private constructor(lease: Lease, warn: Warn) {
    super();
    this.#lease = lease;
    this.#warn = warn;
    lease.observe(this);
    // Its observer comes too late, but its listeners need not.
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
   * Numbers from 0 to limit - 1 that no other live ticket has: one for each permit, lowest free
   * first.
   */
  get slots(): readonly number[] {
    return this.#lease.slots;
  }

  /**
   * A safe integer that rises with every grant of this semaphore. With a limit above 1 other
   * holders are legitimate, so a guarded resource compares tokens per slot: it refuses a write with
   * `(slot, fencingToken)` when it has seen a higher token for that slot. The idea: M. Kleppmann,
   * "How to do distributed locking", 2016.
   */
  get fencingToken(): number {
    return this.#lease.fencingToken;
  }

  /** Aborts when the permit is lost, with the `HandleLostError` as its reason. */
  get signal(): AbortSignal {
    this.#check();
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      this.#keepAlive();
      const { loss } = this.#lease;
      if (loss !== undefined) this.#abort.abort(loss);
    }
    return this.#abort.signal;
  }

  /**
   * Whether the permit is still valid: reads the clocks, so it is right even after a stall of the
   * event loop. Once false it stays false.
   */
  get held(): boolean {
    return this.#check() > 0;
  }

  /**
   * For how many milliseconds the permit is still valid if no other extension succeeds; 0 when lost
   * or released.
   */
  get expiresIn(): number {
    return this.#check();
  }

  /**
   * @throws {HandleLostError} when the permit is no longer valid; with reason `released` after
   *   `release()`.
   */
  assertHeld(): void {
    if (!this.held) throw this.#lease.lossError();
  }

  /**
   * Extends the ticket to its full ttl now, beside the extensions that happen by themselves.
   * @throws {HandleLostError} when the ticket is gone, or its lease ran out before an extension was
   *   confirmed
   * @throws {BackendError} when the backend refuses; the lease runs on, and extensions are retried
   */
  async extend(): Promise<void> {
    this.assertHeld();
    await this.#lease.extend();
  }

  /**
   * Gives the permit back, and settles what it has spent of budgets, which wakes the next waiter.
   * Resolves with true when the ticket was still there, false when it had been lost, or when its
   * lease ran out while the backend could not be reached. Idempotent.
   * @throws {BackendError} when the backend refuses, or does not answer within min(ttl, 5000) ms
   *   and the lease still runs; it is retried in the background until no ticket can be left
   * @throws {TypeError | RangeError} for wrong options: nothing is released
   * @param options `spent`: units of each budget that it names, in place of the `cost`
   */
  release(options?: ReleaseOptions): Promise<boolean> {
    try {
      if (options !== undefined) checkOptions(options, RELEASE_OPTIONS);
      if (options?.spent !== undefined) this.spent = options.spent;
    } catch (error) {
      return Promise.reject(error);
    }
    // Its result says whether the permit was held.
    this.#isChecked = true;
    // Its listeners are called when that has ended, whoever refers to it until then.
    this.#keepAlive();
    return (this.#release ??= this.#lease.release());
  }

  /**
   * What the permit has spent of budgets, by name, which its release settles once. Undefined, or a
   * budget left out: its `cost`.
   */
  get spent(): Readonly<Record<string, number>> | undefined {
    return this.#lease.spent;
  }

  /** @throws {TypeError | RangeError} for what is no whole number of units: nothing changes */
  set spent(spent: Readonly<Record<string, number>> | undefined) {
    const { link } = this.#lease;
    refuseWithoutQueue(link.backend, { spent });
    this.#lease.spent = resolveCosts('spent', spent);
  }

  /** For a queue message; `adopt` takes it. */
  toJSON(): HandleData {
    // A holder that hands its ticket on loses it.
    this.#isChecked = true;
    const { id, slots, fencingToken } = this.#lease;
    return { name: this.name, id, slots, fencingToken };
  }

  /**
   * Releases. Never rejects: a permit that cannot be given back now is retried, and at worst
   * expires; the semaphore emits a `warning`.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release().catch((error: unknown) => {
      const message = `a permit of ${quoted(this.name)} is not given back yet: ${describe(error)}`;
      this.#warn('RELEASE_FAILED', message, error);
    });
  }

  /** @internal */
  forgetLooks(): void {
    this.#isChecked = false;
  }

  /** @internal */
  get unlooked(): readonly Handle[] {
    return this.#isChecked || this.listenerCount('lost') > 0 ? [] : [this];
  }

  /** @internal Once it is released. */
  async reportLoss(): Promise<void> {
    if (await this.release().catch(() => true)) return;
    const reason = this.#lease.loss?.reason ?? 'missing';
    this.#warn(
      'LOST_UNNOTICED',
      `a permit of ${quoted(this.name)} was lost (${reason}) while the function of use() ran, and the function did not look: let it read handle.signal or call assertHeld()`,
    );
  }

  /**
   * @internal Called by the lease's first extension: from then on the caller's references
   *   alone keep this alive.
   */
  onExtended(): void {
    if (this.#weak || this.#abort !== undefined || this.listenerCount('lost') > 0) return;
    this.#weak = true;
    this.#lease.observe(new WeakRef(this));
    dropped.register(this, this.#lease, this);
    this.watchListeners();
  }

  /** @internal */
  onLost(error: HandleLostError): void {
    this.#isChecked ||= this.listenerCount('lost') > 0;
    this.#abort?.abort(error);
    this.watchListeners();
    this.emitLost(error);
  }

  #check(): number {
    this.#isChecked = true;
    return this.#lease.look();
  }

  #keepAlive(): void {
    if (!this.#weak) return;
    this.#weak = false;
    dropped.unregister(this);
    this.#lease.observe(this);
  }

  /** @internal */
  protected override onLossListener(): HandleLostError | undefined {
    this.#isChecked = true;
    this.#keepAlive();
    return this.#lease.loss;
  }
}

/**
 * Checks what another process wrote.
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
