import type { Backend } from '../backends/backend.js';
import { describe } from '../error-causes.js';
import type { Clock, Timer } from '../time/clock.js';
import { CallSource, isAnswer } from './call-source.js';
import { Histories, type HistoryPoint } from './history.js';
import { KnownNames } from './known-names.js';
import { LossesSeen } from './losses-seen.js';
import { type Found, WatchedSemaphore } from './watched-semaphore.js';

/** Most unused semaphores in a look. */
const IDLE_IN_A_LOOK = 500;

/** How long the sampler continues after it answered a request, in milliseconds. */
const ASKED_MS = 10_000;

/** Most names that are watched at once: each is a call in every look, and calls are limited. */
const MOST_CLOSE = 30;

/** The key of a watch over all semaphores: no semaphore has this name. */
const ALL = '';

/** A look without names reads this name, to learn whether the server answers. */
const ANY_NAME = 'redsem';

/** How long a client that lost a reply may wait for it, in milliseconds. */
const LONGEST_SILENCE_MS = 15_000;

/** The options of a sampler. */
export interface SamplerOptions {
  readonly prefix: string;
  readonly clock: Clock;
  /** Milliseconds between two looks. */
  readonly interval: number;
  /** Names that are always in the list, also if the backend has no list of names. */
  readonly names?: readonly string[];
}

/** A name, or all names, that a viewer watches. */
interface Watch {
  readonly listeners: Set<() => void>;
  /** The end of a watch without listeners, on the monotonic clock. */
  until: number;
  /** When the last look at this name began. */
  lookedAt: number;
}

/**
 * Looks at all semaphores of a prefix again and again while it has viewers, and remembers their
 * history. Whatever the number of viewers, the server gets at most 5 calls a second.
 */
export class Sampler {
  /** The lost handles of this process, counted while the sampler has viewers. */
  readonly losses: LossesSeen = new LossesSeen();
  /** When a look was answered last, on the wall clock. */
  lastOkAt: number | undefined;
  /** Why the last look failed, or what it could not read. */
  trouble: string | undefined;
  readonly #options: SamplerOptions;
  readonly #source: CallSource;
  readonly #names: KnownNames;
  readonly #watched = new Map<string, WatchedSemaphore>();
  readonly #histories = new Histories();
  /** By name, in the order of their turns. */
  readonly #watches = new Map<string, Watch>();
  #timer: Timer | undefined;
  #looking = false;
  #again = false;
  /** When the overview was read last, on the monotonic clock. */
  #listedAt = -Infinity;
  #failedSince: number | undefined;

  constructor(backend: Backend, options: SamplerOptions) {
    this.#options = options;
    this.#source = new CallSource(backend, options.prefix, options.clock);
    this.#names = new KnownNames(this.#source);
    for (const name of options.names ?? []) this.#names.add(name);
  }

  /** Whether the last look was answered. */
  get reachable(): boolean {
    return this.lastOkAt !== undefined && this.#failedSince === undefined;
  }

  /** All known semaphores, in no order. */
  get semaphores(): readonly WatchedSemaphore[] {
    return [...this.#watched.values()];
  }

  semaphore(name: string): WatchedSemaphore | undefined {
    return this.#watched.get(name);
  }

  /** Whether the last look was close: holders and waiters are known, or the reason why not. */
  isClose(name: string): boolean {
    const semaphore = this.#watched.get(name);
    return semaphore?.detail !== undefined || semaphore?.error !== undefined;
  }

  history(name: string): readonly HistoryPoint[] {
    const now = this.#options.clock.wall();
    return this.#histories.of(name, this.reachable ? now : (this.lastOkAt ?? now));
  }

  /** While the server is away, the rate stays as the last look found it. */
  rate(semaphore: WatchedSemaphore): number | undefined {
    const now = this.#options.clock.monotonic();
    return semaphore.grants.rate(this.reachable ? now : (semaphore.seenAt ?? now));
  }

  /** Whether the sampler may watch this name beside the names that it watches now. */
  hasRoomFor(name: string): boolean {
    const others = [...this.#watches].filter(
      ([each, { listeners }]) => each !== ALL && each !== name && listeners.size > 0,
    );
    return others.length < MOST_CLOSE;
  }

  /**
   * Looks at all semaphores, and closely at the named semaphore, until the caller calls the
   * returned function.
   * @param onLook called when the semaphore, or all semaphores, were read, and after each failed
   *   look; never before this method has returned
   */
  watch(name: string | undefined, onLook: () => void): () => void {
    const { listeners } = this.#watchOf(name);
    listeners.add(onLook);
    this.#wake();
    return () => {
      listeners.delete(onLook);
      this.#tidy();
    };
  }

  /** Resolves after a look that is not old or has failed, or when `signal` aborts. */
  async ask(name: string | undefined, signal: AbortSignal): Promise<void> {
    let stop: (() => void) | undefined;
    await new Promise<void>((resolve) => {
      if (signal.aborted || this.#isFresh(name)) return resolve();
      stop = this.watch(name, resolve);
      signal.addEventListener('abort', () => resolve());
    });
    if (!signal.aborted) this.#watchOf(name).until = this.#options.clock.monotonic() + ASKED_MS;
    stop?.();
    this.#tidy();
  }

  #watchOf(name = ALL): Watch {
    const known = this.#watches.get(name);
    const watch = known ?? { listeners: new Set(), until: -Infinity, lookedAt: -Infinity };
    this.#watches.set(name, watch);
    return watch;
  }

  /** Ends watches without listeners whose time is over; all of them if there are too many. */
  #tidy(): void {
    const now = this.#options.clock.monotonic();
    for (const [name, { listeners, until }] of this.#watches) {
      const isOver = until <= now || this.#watches.size > MOST_CLOSE;
      if (listeners.size === 0 && isOver) this.#watches.delete(name);
    }
  }

  #isFresh(name: string | undefined): boolean {
    const latest = this.#options.clock.monotonic() - 2 * this.#options.interval;
    if (name === undefined) return this.reachable && this.#listedAt > latest;
    return this.isClose(name) && (this.#watched.get(name)?.seenAt ?? -1) > latest;
  }

  #wake(): void {
    this.losses.start();
    if (this.#looking) this.#again = true;
    else void this.#look();
  }

  async #look(): Promise<void> {
    const { clock, interval } = this.#options;
    this.#timer?.cancel();
    this.#looking = true;
    this.#again = false;
    const began = clock.monotonic();
    try {
      await this.#lookAtAll(began).catch((error: unknown) => this.#fail(error));
      if (this.#failedSince !== undefined) for (const each of this.#watches.values()) tell(each);
    } finally {
      this.#looking = false;
      this.#tidy();
      // Viewers that came meanwhile get a look now.
      const pause = this.#again ? 0 : Math.max(0, began + interval - clock.monotonic());
      if (this.#watches.size === 0) this.losses.stop();
      else this.#timer = clock.schedule(() => void this.#look(), pause, false);
    }
  }

  /** A client without a connection would keep every call, and send all of them in the end. */
  #mayAsk(now: number): boolean {
    if (!this.#source.isUnanswered || this.#failedSince === undefined) return true;
    return now - this.#failedSince >= LONGEST_SILENCE_MS;
  }

  async #lookAtAll(began: number): Promise<void> {
    const { clock, interval } = this.#options;
    if (!this.#mayAsk(began)) return;
    const refusal = await this.#names.findMore(began).then(() => undefined, refusalOf);
    let names = this.#otherNames();
    if (names.length === 0 && !(await this.#lookAtNext(began))) {
      await this.#source.inspect(ANY_NAME).catch(refusalOf);
    }
    while (names.length > 0) {
      const replies = await this.#source.overview(names);
      for (const [i, name] of names.slice(0, replies.length).entries()) {
        const reply = replies[i];
        if (reply !== undefined) this.#note(name, (one, now) => one.seeOverview(reply, now));
      }
      names = names.slice(replies.length);
      // The page of a semaphore does not wait for the end of a long list.
      if (names.length > 0) await this.#lookAtNext(began);
    }
    this.#noteAnswer();
    this.#listedAt = clock.monotonic();
    this.trouble = refusal && `the names cannot be listed: ${refusal}`;
    tell(this.#watches.get(ALL));
    // The list does not wait for all these pages.
    while ((await this.#lookAtNext(began)) && clock.monotonic() < began + interval);
  }

  /** Looks closely at the name whose turn it is; false: no name is due. */
  async #lookAtNext(began: number): Promise<boolean> {
    const now = this.#options.clock.monotonic();
    const since = Math.max(began, now - this.#options.interval);
    const due = [...this.#watches].filter(([each, one]) => each !== ALL && one.lookedAt < since);
    const next = due.find(([, { listeners }]) => listeners.size > 0) ?? due[0];
    if (next === undefined) return false;
    const [name, watch] = next;
    watch.lookedAt = now;
    this.#watches.delete(name);
    this.#watches.set(name, watch);
    await this.#lookClosely(name);
    this.#noteAnswer();
    tell(watch);
    return true;
  }

  async #lookClosely(name: string): Promise<void> {
    this.#names.add(name);
    try {
      const reply = await this.#source.inspect(name);
      this.#note(name, (one, at) => one.seeDetail(reply, at));
    } catch (error) {
      const refusal = refusalOf(error);
      this.#note(name, (one, at) => one.fail(refusal, at));
    }
  }

  #noteAnswer(): void {
    this.lastOkAt = this.#options.clock.wall();
    if (this.#failedSince === undefined) return;
    this.#failedSince = undefined;
    this.trouble = undefined;
  }

  #fail(error: unknown): void {
    this.#failedSince = this.#options.clock.monotonic();
    this.trouble = describe(error);
  }

  /** The names in use, and some unused names, the least recently seen first. */
  #otherNames(): string[] {
    const all = [...this.#names.all].filter((name) => !this.#watches.has(name));
    const isHot = (name: string): boolean => this.#watched.get(name)?.isHot === true;
    const seenAt = (name: string): number => this.#watched.get(name)?.seenAt ?? -1;
    const idle = all
      .filter((name) => !isHot(name))
      .toSorted((one, other) => seenAt(one) - seenAt(other));
    return [...all.filter(isHot), ...idle.slice(0, IDLE_IN_A_LOOK)];
  }

  #note(name: string, see: (semaphore: WatchedSemaphore, now: number) => Found): void {
    const { clock, interval, names = [] } = this.#options;
    const semaphore = this.#watched.get(name) ?? new WatchedSemaphore(name, interval);
    this.#watched.set(name, semaphore);
    const found = see(semaphore, clock.monotonic());
    const isKept = this.#watches.has(name) || names.includes(name);
    if (semaphore.isGone && !isKept) {
      this.#watched.delete(name);
      this.#names.delete(name);
      this.#histories.delete(name);
    } else if (semaphore.error === undefined) {
      const look = { ...semaphore.summary, ...found };
      this.#histories.add(name, clock.wall(), look, semaphore.isHot || isKept);
    }
  }
}

function tell(watch: Watch | undefined): void {
  for (const listener of watch?.listeners ?? []) listener();
}

/**
 * The text of an error with which the server answered.
 * @throws any other error
 */
function refusalOf(error: unknown): string {
  if (!isAnswer(error)) throw error;
  return describe(error);
}
