import { CallTimeoutError } from '../time/call-timeout.js';
import { AcquireTimeoutError, BackendError } from '../errors.js';
import type { Handle } from '../handle.js';
import { Semaphore } from '../semaphore.js';
import type { Clock } from '../time/clock.js';
import { rangeError } from '../arguments/validation.js';
import { DeadlineExceeded, DeadlineScope } from './deadline-scope.js';

/** One semaphore of a set, and how many of its permits are wanted. */
export interface Part {
  readonly semaphore: Semaphore;
  permits: number;
  /** Holds them. */
  handle?: Handle | undefined;
}

/** Until when, and by which clock. */
export interface AcquisitionTerms {
  readonly clock: Clock;
  /** Milliseconds for all parts together; 0: one try; Infinity: no limit. */
  readonly timeout: number;
  readonly signal?: AbortSignal | undefined;
}

/** How many are tried together after one was busy; doubled for as long as all of them are free. */
const SMALL_WINDOW = 2;

/**
 * Takes permits of several semaphores: all of them or none.
 *
 * The first try is a single call if the backend can take all in one. After that no deadlock is
 * possible: every acquisition waits in one order, bytewise by name, and holds no permit behind its
 * place in that order (E. W. Dijkstra's ordered resources). Free permits are taken in one turn,
 * ahead of the order. Before a wait, the permits behind the first busy semaphore are given back;
 * the permits before it stay taken, so each wait brings the whole nearer to its end.
 */
export class OrderedAcquisition {
  /** Each once, in order. */
  readonly parts: readonly Part[];
  /** Of a backend. */
  lastError: unknown;
  readonly #terms: AcquisitionTerms;
  readonly #started: number;
  readonly #scope: DeadlineScope;
  #attempts = 0;

  /**
   * @throws {RangeError} when two semaphores have one name: no order that all processes share
   *   distinguishes them
   */
  constructor(parts: Iterable<Part>, terms: AcquisitionTerms) {
    const { clock, timeout, signal } = terms;
    this.#terms = terms;
    this.#started = clock.monotonic();
    this.parts = inOrder(new Set(parts));
    // One try takes a round trip, whatever its timeout says.
    const deadline = timeout > 0 ? this.#started + timeout : Infinity;
    this.#scope = new DeadlineScope(clock, deadline, signal);
  }

  /**
   * @throws {AcquireTimeoutError} when one was still missing at the end; and whatever a semaphore's
   *   `acquire` throws
   */
  acquire(): Promise<void> {
    return this.#allOrNothing(async () => {
      if ((await this.#tryInOneCall()) === true) return;
      // A try asks for each by itself, because the error names the busy semaphore.
      if (!(await this.#takeInOrder(this.#terms.timeout > 0))) throw this.#timeoutError();
    });
  }

  /**
   * One try: false when one is not free, after what was taken is back. Of several that try the same
   * set at the same moment one succeeds: only the caller that has the first takes more.
   */
  async tryAcquire(): Promise<boolean> {
    let acquired = false;
    await this.#allOrNothing(async () => {
      const inOneCall = await this.#tryInOneCall();
      acquired = inOneCall === 'unable' ? await this.#takeInOrder(false) : inOneCall;
      if (!acquired) await this.#giveBack(this.parts);
    });
    return acquired;
  }

  async #allOrNothing(work: () => Promise<void>): Promise<void> {
    try {
      this.#scope.signal.throwIfAborted();
      await work();
    } catch (reason) {
      const error = reason instanceof DeadlineExceeded ? this.#timeoutError() : reason;
      // Not waited for: a rejection is due now.
      void this.#giveBack(this.parts);
      throw error;
    } finally {
      this.#scope.dispose();
    }
  }

  /** True: everything is held. False: one was not free, and nothing is held. */
  async #tryInOneCall(): Promise<boolean | 'unable'> {
    const sent = this.#terms.clock.monotonic();
    try {
      const handles = await Semaphore.tryTogether(this.parts, this.#scope.signal);
      if (handles === 'unable') return handles;
      this.#attempts += 1;
      this.parts.forEach((part, i) => (part.handle = handles?.[i]));
      return handles !== null;
    } catch (error) {
      this.#attempts += 1;
      if (error instanceof DeadlineExceeded) this.#noteSilence(sent);
      if (!(error instanceof BackendError) || this.#scope.signal.aborted) throw error;
      this.lastError = error.cause ?? error;
      // Each by itself shows which one it is, and may succeed.
      return this.#isSilent ? false : 'unable';
    }
  }

  /** No answer is the end of a single try: another one would take as long again. */
  get #isSilent(): boolean {
    return this.lastError instanceof CallTimeoutError;
  }

  /**
   * Waits for what is busy, or, where it is not patient, tries it once more. Then it begins with
   * the first alone, and so does every other that tries: one of them gets through.
   */
  async #takeInOrder(isPatient: boolean): Promise<boolean> {
    let window = isPatient ? this.parts.length : 1;
    for (;;) {
      const lost = this.parts.filter(({ handle }) => handle?.held === false);
      if (lost.length > 0 && !isPatient) return false;
      await this.#giveBack(lost);
      const missing = this.parts.filter(({ handle }) => handle === undefined);
      if (missing.length === 0) return true;
      const first = missing.slice(0, window);
      // A lone one is better waited for at once.
      if (first.length > 1) await this.#tryEach(first);
      const busy = first.find(({ handle }) => handle === undefined);
      window = isPatient ? 2 * window : Infinity;
      if (busy === undefined) continue;
      if (this.#isSilent && !isPatient) return false;
      const givingBack = this.#giveBack(this.parts.slice(this.parts.indexOf(busy)));
      if (isPatient) {
        await this.#wait(busy);
        window = SMALL_WINDOW;
      } else {
        await givingBack;
        if (!(await this.#take(busy))) return false;
      }
    }
  }

  async #tryEach(parts: readonly Part[]): Promise<void> {
    const outcomes = await Promise.allSettled(parts.map((part) => this.#take(part)));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  /** By default one try. */
  async #take(
    part: Part,
    timeout = 0,
    { signal }: Pick<AcquisitionTerms, 'signal'> = this.#scope,
  ): Promise<boolean> {
    const { semaphore, permits } = part;
    const sent = this.#terms.clock.monotonic();
    if (timeout === 0) this.#attempts += 1;
    try {
      part.handle = await semaphore.acquire({ timeout, permits, signal });
      return true;
    } catch (error) {
      if (error instanceof AcquireTimeoutError && signal?.aborted !== true) {
        if (timeout > 0) this.#attempts += error.attempts;
        this.lastError = error.cause ?? this.lastError;
        return false;
      }
      if (error instanceof DeadlineExceeded) this.#noteSilence(sent);
      // The tries beside it are no longer wanted.
      this.#scope.end(error);
      throw error;
    }
  }

  /** The deadline has come before the answer to a call. */
  #noteSilence(sent: number): void {
    this.lastError ??= new CallTimeoutError(this.#terms.clock.monotonic() - sent);
  }

  async #wait(part: Part): Promise<void> {
    const left = this.#started + this.#terms.timeout - this.#terms.clock.monotonic();
    // By its own timeout: then its error has the cause.
    if (left > 0 && (await this.#take(part, left, this.#terms))) return;
    throw new DeadlineExceeded();
  }

  /**
   * In reverse order, in one turn; never rejects: what cannot be given back now is retried by its
   * semaphore.
   */
  async #giveBack(parts: readonly Part[]): Promise<void> {
    const handles = parts.toReversed().flatMap(({ handle }) => handle ?? []);
    for (const part of parts) part.handle = undefined;
    await Promise.all(handles.map((handle) => handle[Symbol.asyncDispose]()));
  }

  #timeoutError(): AcquireTimeoutError {
    const { clock, timeout } = this.#terms;
    const missing = this.parts.find((part) => part.handle === undefined);
    const name = missing?.semaphore.name ?? '';
    const waited = clock.monotonic() - this.#started;
    return new AcquireTimeoutError(
      { name, timeout, waited, attempts: this.#attempts, heldHere: missing?.semaphore.heldHere },
      this.lastError,
    );
  }
}

/**
 * By their bytes, and not as JavaScript compares strings, so that programs in other languages can
 * keep the order.
 */
function inOrder(parts: ReadonlySet<Part>): Part[] {
  const named = [...parts].map((part) => ({ bytes: Buffer.from(part.semaphore.name), part }));
  named.sort((one, other) => Buffer.compare(one.bytes, other.bytes));
  const ordered = named.map(({ part }) => part);
  const twice = ordered.find((part, i) => part.semaphore.name === ordered[i - 1]?.semaphore.name);
  if (twice === undefined) return ordered;
  throw rangeError(
    `semaphores: expected one semaphore of each name, got two of ${JSON.stringify(twice.semaphore.name)}`,
  );
}
