import type { Backend } from '../backends/backend.js';
import { describe } from '../error-causes.js';
import type { Clock, Timer } from '../time/clock.js';
import { CallSource, isAnswer } from './call-source.js';
import type { Step } from './history.js';
import { Histories } from './histories.js';
import { KnownNames } from './known-names.js';
import { LossesSeen } from './losses-seen.js';
import type { Found } from './watched-semaphore.js';
import { WatchedSemaphore } from './watched-semaphore.js';

/** Semaphores that nobody uses: this number of them is looked at in one look. */
const IDLE_IN_A_LOOK = 500;

/** How long one that is asked about without being watched is looked at, in milliseconds. */
const ASKED_MS = 10_000;

/** Of more that were asked about the first are forgotten. */
const MOST_ASKED = 20;

/** What a client that lost a reply may wait for, in milliseconds. */
const LONGEST_SILENCE_MS = 15_000;

/** What the sampler is made with. */
export interface SamplerOptions {
  readonly prefix: string;
  readonly clock: Clock;
  /** Milliseconds between two looks. */
  readonly interval: number;
  /** Always in the list, also where the backend has no list of names. */
  readonly names?: readonly string[];
}

/**
 * Looks at all semaphores of one prefix again and again, for as long as somebody watches, and
 * remembers what it saw. However many watch, the server gets 5 calls a second at most.
 */
export class Sampler {
  readonly #options: SamplerOptions;
  readonly #source: CallSource;
  readonly #names: KnownNames;
  readonly #watched = new Map<string, WatchedSemaphore>();
  readonly #histories = new Histories();
  readonly #losses = new LossesSeen();
  readonly #listeners = new Set<() => void>();
  /** How many watch: each a name, or all ('' is no name). */
  readonly #watchers = new Map<string, number>();
  /** Until when those are looked at that were asked about. */
  readonly #asked = new Map<string, number>();
  #timer: Timer | undefined;
  #looking = false;
  #again = false;
  #lastOk: { readonly monotonic: number; readonly wall: number } | undefined;
  #failedSince: number | undefined;
  #trouble: string | undefined;

  constructor(backend: Backend, options: SamplerOptions) {
    this.#options = options;
    this.#source = new CallSource(backend, options.prefix, options.clock);
    this.#names = new KnownNames(this.#source);
    for (const name of options.names ?? []) this.#names.add(name);
  }

  /** Whether the last look was answered. */
  get reachable(): boolean {
    return this.#lastOk !== undefined && this.#failedSince === undefined;
  }

  /** When a look was answered last, on the wall clock. */
  get lastOkAt(): number | undefined {
    return this.#lastOk?.wall;
  }

  /** Why the last look failed, or what it could not read. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** All that are known, in no order. */
  get semaphores(): readonly WatchedSemaphore[] {
    return [...this.#watched.values()];
  }

  semaphore(name: string): WatchedSemaphore | undefined {
    return this.#watched.get(name);
  }

  /** Whether the last look at it was close: its holders and waiters are known, or why not. */
  isClose(name: string): boolean {
    const semaphore = this.#watched.get(name);
    return semaphore?.detail !== undefined || semaphore?.error !== undefined;
  }

  history(name: string): readonly Step[] {
    return this.#histories.of(name, this.#options.clock.wall());
  }

  losses(name: string): readonly { readonly reason: string; readonly count: number }[] {
    return this.#losses.of(name);
  }

  rate(semaphore: WatchedSemaphore): number | undefined {
    return semaphore.rate(this.#options.clock.monotonic());
  }

  /**
   * Looks at all semaphores, and at one of them closely, until the function that it gives is
   * called.
   * @param onLook called after each look, also after one that failed
   */
  watch(name: string | undefined, onLook: () => void): () => void {
    const key = name ?? '';
    this.#watchers.set(key, (this.#watchers.get(key) ?? 0) + 1);
    const listener = (): void => onLook();
    this.#listeners.add(listener);
    this.#wake();
    return () => {
      if (!this.#listeners.delete(listener)) return;
      const left = (this.#watchers.get(key) ?? 1) - 1;
      if (left > 0) this.#watchers.set(key, left);
      else this.#watchers.delete(key);
    };
  }

  /** Resolves once a look is there that is not old, or has failed. */
  async ask(name?: string): Promise<void> {
    const key = name ?? '';
    this.#asked.delete(key);
    this.#asked.set(key, this.#options.clock.monotonic() + ASKED_MS);
    const [oldest] = this.#asked.keys();
    if (this.#asked.size > MOST_ASKED && oldest !== undefined) this.#asked.delete(oldest);
    if (this.#isFresh(name)) return;
    await new Promise<void>((resolve) => {
      const stop = this.watch(name, () => {
        if (!this.#isFresh(name) && this.#failedSince === undefined) return;
        stop();
        resolve();
      });
    });
  }

  #isFresh(name: string | undefined): boolean {
    const latest = this.#options.clock.monotonic() - 2 * this.#options.interval;
    if (name === undefined) return this.reachable && (this.#lastOk?.monotonic ?? -1) > latest;
    return this.isClose(name) && (this.#watched.get(name)?.seenAt ?? -1) > latest;
  }

  #wake(): void {
    this.#losses.start();
    if (this.#looking) this.#again = true;
    else void this.#look();
  }

  async #look(): Promise<void> {
    const { clock, interval } = this.#options;
    this.#timer?.cancel();
    this.#looking = true;
    this.#again = false;
    const began = clock.monotonic();
    if (this.#mayAsk(began)) await this.#lookAtAll(began);
    for (const listener of this.#listeners) listener();
    this.#looking = false;
    if (!this.#isWanted()) return this.#losses.stop();
    // Somebody else has come meanwhile: that is looked at now.
    const pause = this.#again ? 0 : Math.max(0, began + interval - clock.monotonic());
    this.#timer = clock.schedule(() => void this.#look(), pause, false);
  }

  /** A client without a connection would keep every call, to send all of them in the end. */
  #mayAsk(now: number): boolean {
    if (this.#source.unanswered === undefined || this.#failedSince === undefined) return true;
    return now - this.#failedSince >= LONGEST_SILENCE_MS;
  }

  async #lookAtAll(began: number): Promise<void> {
    const { clock } = this.#options;
    try {
      this.#trouble = undefined;
      await this.#names.findMore(began).catch((error: unknown) => this.#onRefusal(error));
      const close = [...this.#closeNames()];
      const others = this.#otherNames(new Set(close));
      const replies = await this.#source.overview(others);
      for (const [i, name] of others.entries()) {
        const reply = replies[i];
        if (reply === undefined) continue;
        this.#note(name, (one, now) => one.seeOverview(reply, now));
      }
      for (const name of close) await this.#lookClosely(name);
      this.#lastOk = { monotonic: clock.monotonic(), wall: clock.wall() };
      this.#failedSince = undefined;
    } catch (error) {
      this.#failedSince = clock.monotonic();
      this.#trouble = describe(error);
    }
  }

  async #lookClosely(name: string): Promise<void> {
    this.#names.add(name);
    try {
      const reply = await this.#source.inspect(name);
      this.#note(name, (one, now) => one.seeDetail(reply, now));
    } catch (error) {
      if (!isAnswer(error)) throw error;
      this.#note(name, (one, now) => one.fail(describe(error), now));
    }
  }

  /** The server can be reached, but gives no list of names. */
  #onRefusal(error: unknown): void {
    if (!isAnswer(error)) throw error;
    this.#trouble = `the names cannot be listed: ${describe(error)}`;
  }

  /** Those that somebody looks at. */
  *#closeNames(): Iterable<string> {
    const now = this.#options.clock.monotonic();
    for (const [name, until] of this.#asked) if (until <= now) this.#asked.delete(name);
    const names = new Set([...this.#watchers.keys(), ...this.#asked.keys()]);
    for (const name of names) if (name !== '') yield name;
  }

  /** Those in use, and some of the others: those that were looked at longest ago. */
  #otherNames(close: ReadonlySet<string>): string[] {
    const all = [...this.#names.all].filter((name) => !close.has(name));
    const isHot = (name: string): boolean => this.#watched.get(name)?.isHot === true;
    const seenAt = (name: string): number => this.#watched.get(name)?.seenAt ?? -Infinity;
    const idle = all.filter((name) => !isHot(name));
    const due =
      idle.length <= IDLE_IN_A_LOOK
        ? idle
        : idle.toSorted((one, other) => seenAt(one) - seenAt(other)).slice(0, IDLE_IN_A_LOOK);
    return [...all.filter(isHot), ...due];
  }

  #note(name: string, see: (semaphore: WatchedSemaphore, now: number) => Found): void {
    const { clock, names = [] } = this.#options;
    let semaphore = this.#watched.get(name);
    if (semaphore === undefined) {
      this.#watched.set(name, (semaphore = new WatchedSemaphore(name)));
    }
    const found = see(semaphore, clock.monotonic());
    const isKept = this.#watchers.has(name) || this.#asked.has(name) || names.includes(name);
    if (semaphore.isGone && !isKept) {
      this.#watched.delete(name);
      this.#names.delete(name);
      this.#histories.delete(name);
    } else if (semaphore.error === undefined) {
      const { held, waiting, limit } = semaphore.summary;
      const look = { held, waiting, limit, ...found };
      this.#histories.add(name, clock.wall(), look, semaphore.isHot || isKept);
    }
  }

  #isWanted(): boolean {
    const now = this.#options.clock.monotonic();
    return this.#listeners.size > 0 || [...this.#asked.values()].some((until) => until > now);
  }
}
