import { backoffDelay } from '../calling/backoff.js';
import type { Clock } from '../time/clock.js';
import { randomBy } from '../time/clock.js';
import { AcquireTimeoutError, BackendError } from '../errors.js';
import type { Handle } from '../handle.js';
import { DeadlineScope, DeadlineExceeded } from './deadline-scope.js';
import { Semaphore } from '../semaphore.js';
import { CallTimeoutError } from '../calling/call-timeout.js';

/** One semaphore of a set, and how many of its permits are wanted. */
export interface Part {
  readonly semaphore: Semaphore;
  permits: number;
}

/** Until when, and by which clock. */
export interface AcquisitionTerms {
  readonly clock: Clock;
  /** Milliseconds for all parts together; 0: one try; Infinity: no limit. */
  readonly timeout: number;
  readonly signal: AbortSignal | undefined;
}

/** Pauses between tries of semaphores that no order tells apart, in milliseconds. */
const TIED_PAUSE = { min: 5, max: 200, factor: 2, jitter: true };

/** How many are tried together after one was busy; doubled for as long as all of them are free. */
const SMALL_WINDOW = 2;

/**
 * Takes permits of several semaphores: all of them or none.
 *
 * Nobody deadlocks, because everybody waits in one order, bytewise by name, and holds nothing behind the place
 * where they wait (E. W. Dijkstra's ordered resources). What is free is not waited for: it is taken in one turn,
 * ahead of the order, and what lies behind the first busy one is given back before waiting. What was taken in
 * order stays taken, so each wait brings the whole nearer to its end.
 *
 * Semaphores of one name (on two backends, or under two prefixes) have no order that all processes share. Of
 * those one is waited for and the others are only tried, as C++'s `std::lock` does.
 */
export class OrderedAcquisition {
  readonly #terms: AcquisitionTerms;
  readonly #started: number;
  /** In order; parts of one name share a level. */
  readonly #levels: Part[][];
  readonly #held = new Map<Part, Handle>();
  readonly #merged = new Map<Part, Part>();
  readonly #scope: DeadlineScope;
  #attempts = 0;
  #lastError: unknown;

  constructor(parts: readonly Part[], terms: AcquisitionTerms) {
    const { clock, timeout, signal } = terms;
    this.#terms = terms;
    this.#started = clock.monotonic();
    this.#levels = inLevels(parts);
    // One try takes a round trip, whatever its timeout says.
    const deadline = timeout > 0 ? this.#started + timeout : Infinity;
    this.#scope = new DeadlineScope(clock, deadline, signal);
  }

  /** What is held, in the order in which it is taken. */
  get handles(): Handle[] {
    return this.#levels.flat().flatMap((part) => this.#held.get(part) ?? []);
  }

  /** The handle that has the permits of `part`. */
  handleOf(part: Part): Handle | undefined {
    return this.#held.get(this.#merged.get(part) ?? part);
  }

  /** @throws {AcquireTimeoutError} when one was still missing at the end; and whatever a semaphore's `acquire` throws */
  acquire(): Promise<void> {
    return this.#allOrNothing(async () => {
      if (this.#terms.timeout > 0) await this.#takeInOrder();
      else if (!(await this.#tryInOrder())) throw this.#timeoutError();
    });
  }

  /**
   * One try: false when one is not free, after what was taken is back. Of several that try the same set at the same
   * moment one succeeds: only who has the first takes more.
   * @returns the last error of a backend beside the outcome
   */
  async tryAcquire(): Promise<{ acquired: boolean; trouble: unknown }> {
    let acquired = false;
    await this.#allOrNothing(async () => {
      acquired = await this.#tryInOrder();
      if (!acquired) await this.#giveBack(this.#levels.flat());
    });
    return { acquired, trouble: this.#lastError };
  }

  async #allOrNothing(work: () => Promise<void>): Promise<void> {
    try {
      this.#scope.signal.throwIfAborted();
      await work();
    } catch (reason) {
      const error = reason instanceof DeadlineExceeded ? this.#timeoutError() : reason;
      // Not waited for: a rejection is due now, and giving back goes on by itself.
      void this.#giveBack(this.#levels.flat());
      throw error;
    } finally {
      this.#scope.dispose();
    }
  }

  /** What a first call for all of them took, if one call can do that. False: one was not free, and nothing is held. */
  async #tryInOneCall(): Promise<boolean | 'unable'> {
    const parts = this.#levels.flat();
    this.#attempts += 1;
    try {
      const handles = await Semaphore.tryTogether(parts, this.#scope.signal);
      if (handles === 'unable') this.#attempts -= 1;
      if (handles === null || handles === 'unable') return handles ?? false;
      handles.forEach((handle, i) => this.#hold(parts[i], handle));
      return true;
    } catch (error) {
      if (!(error instanceof BackendError) || this.#scope.signal.aborted) throw error;
      // Each by itself tells which one it is, and may succeed later.
      this.#lastError = error.cause ?? error;
      return 'unable';
    }
  }

  #hold(part: Part | undefined, handle: Handle): void {
    if (part !== undefined) this.#held.set(part, handle);
  }

  async #takeInOrder(): Promise<void> {
    if ((await this.#tryInOneCall()) === true) return;
    let window = this.#levels.length;
    for (;;) {
      await this.#giveBack(this.#levels.flat().filter((part) => this.#isLost(part)));
      const missing = this.#levels.filter((level) => !this.#holdsAll(level));
      if (missing.length === 0) return;
      const busy = await this.#firstBusy(missing.slice(0, window));
      if (busy === undefined) {
        window *= 2;
      } else {
        void this.#giveBack(this.#levels.slice(this.#levels.indexOf(busy)).flat());
        await this.#waitFor(busy);
        window = SMALL_WINDOW;
      }
    }
  }

  /** Tries all of them; a lone one is better waited for at once. */
  async #firstBusy(levels: Part[][]): Promise<Part[] | undefined> {
    if (levels.length > 1) await this.#tryTogether(levels.flat());
    return levels.find((level) => !this.#holdsAll(level));
  }

  /** Nothing is waited for. After a miss strictly in order: then somebody who tries at the same time gets through. */
  async #tryInOrder(): Promise<boolean> {
    const inOneCall = await this.#tryInOneCall();
    if (inOneCall !== 'unable') return inOneCall;
    const [first, ...others] = this.#levels.flat();
    if (first === undefined) return true;
    if (!(await this.#tryOne(first))) return false;
    await this.#tryTogether(others);
    const at = others.findIndex((part) => !this.#held.has(part));
    const again = at === -1 ? [] : others.slice(at);
    await this.#giveBack(again);
    for (const part of again) if (!(await this.#tryOne(part))) return false;
    return this.#levels.every((level) => this.#holdsAll(level));
  }

  async #tryTogether(parts: readonly Part[]): Promise<void> {
    const outcomes = await Promise.allSettled(parts.map((part) => this.#tryOne(part)));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  async #tryOne(part: Part): Promise<boolean> {
    const { semaphore, permits } = part;
    const { signal } = this.#scope;
    const sent = this.#terms.clock.monotonic();
    this.#attempts += 1;
    try {
      this.#held.set(part, await semaphore.acquire({ timeout: 0, permits, signal }));
      return true;
    } catch (error) {
      if (error instanceof AcquireTimeoutError && !signal.aborted) {
        this.#lastError = error.cause ?? this.#lastError;
        return false;
      }
      if (error instanceof DeadlineExceeded) {
        this.#lastError ??= new CallTimeoutError(this.#terms.clock.monotonic() - sent);
      }
      // Those that are tried beside it are no longer wanted.
      this.#scope.end(error);
      throw error;
    }
  }

  async #waitFor(level: Part[]): Promise<void> {
    let [first] = level;
    for (let round = 0; first !== undefined; round += 1) {
      await this.#wait(first);
      await this.#tryTogether(level.filter((part) => part !== first));
      const busy = level.find((part) => !this.#held.has(part));
      if (busy === undefined) return;
      const twin = await this.#twinOf(busy, level);
      void this.#giveBack(level);
      if (twin === undefined) {
        // Two that wait for each other's would otherwise go on in step.
        await this.#scope.pause(backoffDelay(TIED_PAUSE, round, randomBy(this.#terms.clock)));
        first = busy;
      } else {
        this.#merge(busy, twin, level);
        first = twin;
      }
    }
  }

  async #wait(part: Part): Promise<void> {
    const { clock, timeout, signal } = this.#terms;
    const left = this.#started + timeout - clock.monotonic();
    if (left <= 0) throw new DeadlineExceeded();
    const { semaphore, permits } = part;
    const caller = signal === undefined ? {} : { signal };
    try {
      this.#held.set(part, await semaphore.acquire({ timeout: left, permits, ...caller }));
    } catch (error) {
      if (signal?.aborted === true || !(error instanceof AcquireTimeoutError)) throw error;
      this.#attempts += error.attempts;
      this.#lastError = error.cause ?? this.#lastError;
      throw new DeadlineExceeded();
    }
  }

  /** Whether one that is busy is so for what is held here: two objects for one semaphore. */
  async #twinOf(busy: Part, level: readonly Part[]): Promise<Part | undefined> {
    const seen = busy.semaphore.inspect().catch(() => undefined);
    const ids = new Set((await this.#scope.race(seen))?.holders.map(({ id }) => id));
    return level.find((part) => ids.has(this.#held.get(part)?.id ?? ''));
  }

  /** One request for the permits of both, which waits in the queue as one; too many for the limit are an error. */
  #merge(part: Part, twin: Part, level: Part[]): void {
    twin.permits += part.permits;
    for (const [from, to] of this.#merged) if (to === part) this.#merged.set(from, twin);
    this.#merged.set(part, twin);
    level.splice(level.indexOf(part), 1);
  }

  #holdsAll(level: readonly Part[]): boolean {
    return level.every((part) => this.#held.get(part)?.held === true);
  }

  #isLost(part: Part): boolean {
    return this.#held.get(part)?.held === false;
  }

  /** In reverse order, in one turn; never rejects: what cannot be given back now is tried on by its semaphore. */
  async #giveBack(parts: readonly Part[]): Promise<void> {
    const handles = parts.toReversed().flatMap((part) => this.#held.get(part) ?? []);
    for (const part of parts) this.#held.delete(part);
    await Promise.all(handles.map((handle) => handle[Symbol.asyncDispose]()));
  }

  #timeoutError(): AcquireTimeoutError {
    const { clock, timeout } = this.#terms;
    const missing = this.#levels.flat().find((part) => !this.#held.has(part));
    const name = missing?.semaphore.name ?? '';
    const waited = clock.monotonic() - this.#started;
    return new AcquireTimeoutError(
      { name, timeout, waited, attempts: this.#attempts },
      this.#lastError,
    );
  }
}

function inLevels(parts: readonly Part[]): Part[][] {
  const byName = new Map<string, Part[]>();
  for (const part of parts) {
    const { name } = part.semaphore;
    byName.set(name, [...(byName.get(name) ?? []), part]);
  }
  // By their bytes, and not as JavaScript compares strings, so that programs in other languages can keep the order.
  const named = [...byName].map(([name, level]) => ({ bytes: Buffer.from(name), level }));
  named.sort((one, other) => Buffer.compare(one.bytes, other.bytes));
  return named.map(({ level }) => level);
}
