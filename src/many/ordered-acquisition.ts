import { rangeError } from '../arguments/validation.js';
import { onceAborted } from '../core/abort-fanout.js';
import { AcquireTimeoutError, BackendError } from '../errors.js';
import type { Handle } from '../handle.js';
import { Semaphore } from '../semaphore.js';
import { CallTimeoutError } from '../time/call-timeout.js';
import type { Clock } from '../time/clock.js';
import { Wakeup } from '../time/shared-timer.js';

/** A semaphore of a set, and how many of its permits are wanted. */
export interface Share {
  readonly semaphore: Semaphore;
  permits: number;
  /** Holds the permits. */
  handle?: Handle | undefined;
}

/** The clock of an acquisition and its end. */
export interface AcquisitionDeadline {
  readonly clock: Clock;
  /** Milliseconds for all shares together; 0: one try; Infinity: no limit. */
  readonly timeout: number;
  readonly signal?: AbortSignal | undefined;
}

/** The time of the acquisition was over before the answer to a call. */
class DeadlineExceeded extends Error {}

/** How many shares are tried together after a wait; doubled after each round without a wait. */
const SMALL_WINDOW = 2;

/**
 * Takes permits of several semaphores: all of them or none.
 *
 * The first try is a single call if the backend can take all permits in one call. After that no
 * deadlock is possible: every acquisition waits in the same order, bytewise by name, and holds no
 * permit behind its position in that order (E. W. Dijkstra's ordered resources). Free permits are
 * taken in one turn, ahead of the order. Before a wait, the permits behind the first busy semaphore
 * are given back; the permits before it stay taken, so each wait brings the whole nearer to its
 * end.
 */
export class OrderedAcquisition {
  /** Each share once, in order. */
  readonly shares: readonly Share[];
  /** The last error of a backend. */
  lastError: unknown;
  readonly #deadline: AcquisitionDeadline;
  readonly #started: number;
  /** Ends every call under way: at the deadline, with the caller's signal, after a final error. */
  readonly #end = new AbortController();
  #attempts = 0;
  /** When the last call left. */
  #sent = 0;

  /**
   * @throws {RangeError} when two semaphores have the same name: no order that all processes share
   *   distinguishes them
   */
  constructor(shares: Iterable<Share>, deadline: AcquisitionDeadline) {
    this.#deadline = deadline;
    this.#started = deadline.clock.monotonic();
    this.shares = inOrder(new Set(shares));
  }

  /**
   * @throws {AcquireTimeoutError} when a permit was still missing at the end
   * @throws as `acquire` of a semaphore
   */
  acquire(): Promise<void> {
    return this.#allOrNothing(async () => {
      if ((await this.#tryInOneCall()) === true) return;
      // A try asks for each share alone, because the error names the busy semaphore.
      if (!(await this.#takeInOrder(this.#deadline.timeout > 0))) throw this.#timeoutError();
    });
  }

  /**
   * One try. False when a permit is not free; the other permits are then given back. When several
   * callers try the same set at the same moment, one of them succeeds: only the caller that has the
   * first permit takes more.
   */
  tryAcquire(): Promise<boolean> {
    return this.#allOrNothing(async () => {
      const inOneCall = await this.#tryInOneCall();
      const acquired = inOneCall === 'unable' ? await this.#takeInOrder(false) : inOneCall;
      if (!acquired) await this.#giveBack(this.shares);
      return acquired;
    });
  }

  async #allOrNothing<T>(work: () => Promise<T>): Promise<T> {
    const { clock, timeout, signal } = this.#deadline;
    const timer = new Wakeup(clock, true, () => this.#end.abort(new DeadlineExceeded()));
    // A timeout of 0 is one try, which takes a round trip.
    timer.wakeBy(timeout > 0 ? this.#started + timeout : Infinity, this.#started);
    const forget = signal && onceAborted(signal, () => this.#end.abort(signal.reason));
    try {
      signal?.throwIfAborted();
      return await work();
    } catch (reason) {
      const isOver = reason instanceof DeadlineExceeded;
      if (isOver) this.lastError ??= new CallTimeoutError(clock.monotonic() - this.#sent);
      const error = isOver ? this.#timeoutError() : reason;
      // The caller does not wait for it: its rejection is due now.
      void this.#giveBack(this.shares);
      throw error;
    } finally {
      timer.stop();
      forget?.();
    }
  }

  /** True: all permits are held. False: a permit was not free, and none is held. */
  async #tryInOneCall(): Promise<boolean | 'unable'> {
    const { signal } = this.#end;
    this.#sent = this.#deadline.clock.monotonic();
    try {
      const handles = await Semaphore.tryTogether(this.shares, signal);
      if (handles === 'unable') return handles;
      this.#attempts += 1;
      this.shares.forEach((share, i) => (share.handle = handles?.[i]));
      return handles !== null;
    } catch (error) {
      this.#attempts += 1;
      if (!(error instanceof BackendError) || signal.aborted) throw error;
      this.lastError = error.cause ?? error;
      // Tries for each share alone show which semaphore failed, and may succeed. Without an answer
      // they would take as long again.
      return this.lastError instanceof CallTimeoutError ? false : 'unable';
    }
  }

  /**
   * Waits for busy semaphores, or, if it is not patient, tries the first busy semaphore once more.
   * An impatient try begins with the first share alone, as every other does: one gets through.
   */
  async #takeInOrder(isPatient: boolean): Promise<boolean> {
    const { clock, timeout } = this.#deadline;
    // Without an answer to the call for all, tries for each would take as long again.
    const isSilent = this.lastError instanceof CallTimeoutError;
    let window = isPatient && !isSilent ? this.shares.length : 1;
    for (;;) {
      const lost = this.shares.filter(({ handle }) => handle?.held === false);
      if (lost.length > 0 && !isPatient) return false;
      await this.#giveBack(lost);
      const missing = this.shares.filter(({ handle }) => handle === undefined);
      if (missing.length === 0) return true;
      const first = missing.slice(0, window);
      // A single share is waited for at once.
      const tries = first.length > 1 ? first.map((share) => this.#take(share)) : [];
      const outcomes = await Promise.allSettled(tries);
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
      const busy = first.find(({ handle }) => handle === undefined);
      window = isPatient ? 2 * window : Infinity;
      if (busy === undefined) continue;
      if (this.lastError instanceof CallTimeoutError && !isPatient) return false;
      const givingBack = this.#giveBack(this.shares.slice(this.shares.indexOf(busy)));
      if (isPatient) {
        const left = this.#started + timeout - clock.monotonic();
        // The semaphore's own timeout ends it, because the error of that has a cause.
        if (left <= 0 || !(await this.#take(busy, left))) throw this.#timeoutError();
        window = SMALL_WINDOW;
      } else {
        await givingBack;
        if (!(await this.#take(busy))) return false;
      }
    }
  }

  /** By default one try. */
  async #take(share: Share, timeout = 0): Promise<boolean> {
    const { semaphore, permits } = share;
    const { signal } = timeout === 0 ? this.#end : this.#deadline;
    this.#sent = this.#deadline.clock.monotonic();
    if (timeout === 0) this.#attempts += 1;
    try {
      share.handle = await semaphore.acquire({ timeout, permits, signal });
      return true;
    } catch (error) {
      if (error instanceof AcquireTimeoutError && signal?.aborted !== true) {
        if (timeout > 0) this.#attempts += error.attempts;
        this.lastError = error.cause ?? this.lastError;
        return false;
      }
      // The tries beside it are no longer wanted.
      this.#end.abort(error);
      throw error;
    }
  }

  /**
   * Gives permits back in reverse order, in one turn. Never rejects: a semaphore retries each
   * release that fails.
   */
  async #giveBack(shares: readonly Share[]): Promise<void> {
    const handles = shares.toReversed().flatMap(({ handle }) => handle ?? []);
    for (const share of shares) share.handle = undefined;
    await Promise.all(handles.map((handle) => handle[Symbol.asyncDispose]()));
  }

  #timeoutError(): AcquireTimeoutError {
    const { clock, timeout } = this.#deadline;
    const missing = this.shares.find(({ handle }) => handle === undefined);
    const { name = '', limit, heldHere }: Partial<Semaphore> = missing?.semaphore ?? {};
    const waited = clock.monotonic() - this.#started;
    const facts = { name, timeout, waited, attempts: this.#attempts, limit, heldHere };
    return new AcquireTimeoutError(facts, this.lastError);
  }
}

/**
 * By the bytes of the names, and not as JavaScript compares strings, so that programs in other
 * languages can keep the order.
 */
function inOrder(shares: ReadonlySet<Share>): Share[] {
  const named = [...shares].map((share) => ({ bytes: Buffer.from(share.semaphore.name), share }));
  named.sort((one, other) => Buffer.compare(one.bytes, other.bytes));
  const twice = named.find(({ bytes }, i) => named[i + 1]?.bytes.equals(bytes) === true);
  if (twice === undefined) return named.map(({ share }) => share);
  const name = JSON.stringify(twice.share.semaphore.name);
  throw rangeError(`semaphores: expected one semaphore of each name, got two of ${name}`);
}
