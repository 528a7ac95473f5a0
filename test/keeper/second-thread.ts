import type { Backend } from '../../src/backend.js';
import type { Keep, KeptSemaphore, LeaseKeeper } from '../../src/backends/lease-keeper.js';
import { ManualClock, MemoryBackend } from '../../src/index.js';
import { KeptLeases } from '../../src/keeper/kept-leases.js';
import type { Notice, Order } from '../../src/keeper/messages.js';
import { renewLeases } from '../../src/keeper/renewer.js';
import { SharedLeases } from '../../src/keeper/shared-leases.js';
import type { Clock, Timer } from '../../src/time/clock.js';

/** A thread's own timers on the time of all: while the thread is blocked, none of them runs. */
export class ThreadClock implements Clock {
  isBlocked = false;
  /** After that look the process stops for `stopFor` milliseconds. */
  stopAfter = Infinity;
  stopFor = 0;
  readonly #time: ManualClock;
  readonly #late: (() => void)[] = [];
  #looks = 0;

  constructor(time: ManualClock) {
    this.#time = time;
  }

  /** No two looks show the same time: a nanosecond passes. */
  monotonic(): number {
    return this.#look(this.#time.monotonic() + (this.#looks + 1) / 1e6);
  }

  wall(): number {
    return this.#look(this.#time.wall());
  }

  #look(shown: number): number {
    this.#looks += 1;
    if (this.#looks === this.stopAfter) this.#time.stall(this.stopFor);
    return shown;
  }

  get hasStopped(): boolean {
    return this.#looks >= this.stopAfter;
  }

  schedule(callback: () => void, delay: number, _keepAlive: boolean): Timer {
    return this.#time.schedule(() => this.run(callback), delay);
  }

  /** At once, or when the thread is back. */
  run(callback: () => void): void {
    if (this.isBlocked) this.#late.push(callback);
    else callback();
  }

  unblock(): void {
    this.isBlocked = false;
    for (const callback of this.#late.splice(0)) callback();
  }
}

/** Both threads of a keeper in one, in time that a test moves. */
export class SecondThread implements LeaseKeeper {
  readonly time = new ManualClock();
  readonly main: ThreadClock = new ThreadClock(this.time);
  readonly keeper: ThreadClock = new ThreadClock(this.time);
  readonly memory = new MemoryBackend({ clock: this.time });
  /** The thread of each call that renews. */
  readonly #renewals: ('main' | 'keeper')[] = [];
  readonly notices: Notice[] = [];
  readonly warnings: string[] = [];
  /** The keeper's client reaches this server instead. */
  elsewhere: MemoryBackend | undefined;
  /** Orders are on their way for as long as this is set. */
  isSlow = false;
  /** The keeper's calls fail with it, when it is set. */
  failWith: Error | undefined;
  /** Replies to the keeper's calls wait for it, when it is set. */
  delivery: Promise<void> | undefined;
  readonly backend: Backend = this.#counted('main');
  readonly leases: KeptLeases;
  readonly #obey: (order: Order) => void;
  readonly #orders: Order[] = [];

  constructor(maxStall = 60_000) {
    this.leases = new KeptLeases({
      clock: this.main,
      maxStall,
      send: (order) => {
        this.#orders.push(order);
        if (!this.isSlow) this.deliver();
      },
      warn: (why) => this.warnings.push(why),
    });
    this.#obey = renewLeases({
      backend: this.#counted('keeper'),
      clock: this.keeper,
      shared: new SharedLeases(this.keeper, this.leases.shared.buffer),
      maxStall,
      notify: (notice) => {
        this.notices.push(notice);
        this.main.run(() => this.leases.hear(notice));
      },
      onOutcome: (error) => this.say(error === undefined ? undefined : 'it fails'),
    });
  }

  open(semaphore: KeptSemaphore): Keep {
    return this.leases.open(semaphore);
  }

  /** The orders on their way arrive. */
  deliver(): void {
    for (const order of this.#orders.splice(0)) this.#obey(order);
  }

  /** The orders on their way are lost. */
  discard(): void {
    this.#orders.splice(0);
  }

  /** The keeper's thread has that trouble, or none any more. */
  say(text: string | undefined): void {
    this.leases.hear({ what: 'trouble', text });
  }

  by(thread: 'main' | 'keeper'): number {
    return this.#renewals.filter((by) => by === thread).length;
  }

  #counted(by: 'main' | 'keeper'): Backend {
    const { memory } = this;
    const extend: Backend['extend'] = async (calls) => {
      this.#renewals.push(by);
      if (by === 'main') return memory.extend(calls);
      if (this.failWith !== undefined) throw this.failWith;
      const replies = (this.elsewhere ?? memory).extend(calls);
      await this.delivery;
      return replies;
    };
    const own = { extend, clock: by === 'main' ? this.main : this.time };
    return new Proxy<Backend>(memory, {
      get(_, key) {
        if (key in own) return Reflect.get(own, key) as unknown;
        const value: unknown = Reflect.get(memory, key);
        return typeof value === 'function' ? (value.bind(memory) as unknown) : value;
      },
    });
  }
}
