import type { HandleLostError, LostReason } from './errors.js';
import type { Lease } from './core/lease.js';
import { quoted } from './arguments/shown.js';
import { LossEmitter } from './loss-emitter.js';

/** A ticket as plain data: another process takes it over with `adopt`. */
export interface HandleData {
  /** The semaphore's name. */
  readonly name: string;
  /** The ticket's id. */
  readonly id: string;
  /** One number for each permit. */
  readonly slots: readonly number[];
  /** As `handle.fencingToken`; `adopt` gives the ticket a higher one. */
  readonly fencingToken: number;
}

/** Where a handle reports what its holder does not hear of. */
export interface HandleWarnings {
  /** It was disposed of, and its release has failed. */
  onReleaseFailed(error: unknown): void;
  /** Its holder has ended without a look; no reason: its ticket was gone when it was released. */
  onUnnoticedLoss(reason: LostReason | undefined): void;
}

// A held lease is kept by its semaphore, its handle by the caller alone. A handle that was
// dropped without release can report a loss to nobody: its ticket is no longer extended and expires
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
  readonly #lease: Lease;
  readonly #warnings: HandleWarnings;
  /** Whether the holder has asked about a loss. */
  #looked = false;
  #abort: AbortController | undefined;
  #release: Promise<boolean> | undefined;
  #weak = false;

  /** @internal */
  constructor(lease: Lease, warnings: HandleWarnings) {
    super();
    this.#lease = lease;
    this.#warnings = warnings;
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
    this.#look();
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
    return this.#look() > 0;
  }

  /**
   * For how many milliseconds the permit is still valid if no other extension succeeds; 0 when lost
   * or released.
   */
  get expiresIn(): number {
    return this.#look();
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
   * Gives the permit back, which wakes the next waiter. Resolves with true when the ticket was
   * still there, false when it had been lost, or when its lease ran out while the backend could not
   * be reached. Idempotent.
   * @throws {BackendError} when the backend refuses, or does not answer within min(ttl, 5000) ms
   *   and the lease still runs; it is retried in the background until no ticket can be left
   */
  release(): Promise<boolean> {
    // Its result says whether the permit was held.
    this.#looked = true;
    this.#release ??= this.#doRelease();
    return this.#release;
  }

  /** For a queue message; `adopt` takes it. */
  toJSON(): HandleData {
    // A holder that hands its ticket on loses it.
    this.#looked = true;
    const { id, slots, fencingToken } = this.#lease;
    return { name: this.name, id, slots, fencingToken };
  }

  /**
   * Releases. Never rejects: a permit that cannot be given back now is retried, and at worst
   * expires; the semaphore emits a `warning`.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release().catch((error: unknown) => this.#warnings.onReleaseFailed(error));
  }

  /** @internal */
  forgetLooks(): void {
    this.#looked = false;
  }

  /** @internal */
  get unlooked(): readonly Handle[] {
    return this.#looked || this.listenerCount('lost') > 0 ? [] : [this];
  }

  /** @internal Once it is released. */
  async reportLoss(): Promise<void> {
    if (await this.release().catch(() => true)) return;
    this.#warnings.onUnnoticedLoss(this.#lease.loss?.reason);
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
    this.#looked ||= this.listenerCount('lost') > 0;
    this.#abort?.abort(error);
    this.watchListeners();
    this.emitLost(error);
  }

  /** @internal */
  onReleased(): void {
    this.emitReleased();
  }

  #look(): number {
    this.#looked = true;
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
    this.#looked = true;
    this.#keepAlive();
    return this.#lease.loss;
  }

  #doRelease(): Promise<boolean> {
    // Its listeners are called when that has ended, whoever refers to it until then.
    this.#keepAlive();
    return this.#lease.release();
  }
}
