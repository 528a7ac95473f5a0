import type { GrantListener, Listening } from '../../../src/backends/backend.js';
import type { Backend } from '../../../src/index.js';
import type { Random } from '../random.js';
import { isRetryable, RefusedError } from './damage.js';
import { copyCall } from './plain-copy.js';
import type { SimulatedProcess } from './process.js';
import type { Scheduler } from './scheduler.js';
import type { Gate } from './gate.js';
import { OPERATIONS } from './server.js';
import { Weather } from './weather.js';

/** The answer to each write while writes are refused. */
const NO_RIGHT = "NOPERM this user has no permissions to run the 'evalsha' command";

interface Pending {
  readonly sent: number;
  readonly operation: string;
  readonly call: object;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Milliseconds between two tries to connect, and until a client notices that its connection is
 * gone.
 */
const RECONNECT = 30;

/**
 * The connections of one process to one server: one for commands, and one for each subscription.
 * Each keeps its order; between them there is none. `resends`: commands in flight when a connection
 * breaks are sent again, as ioredis does; else they fail, as with node-redis.
 */
export class Link {
  readonly weather = new Weather();
  readonly process: SimulatedProcess;
  readonly resends: boolean;
  readonly gate: Gate;
  readonly random: Random;
  readonly #scheduler: Scheduler;
  readonly #pending = new Set<Pending>();
  readonly #subscribers = new Set<Subscriber>();
  #connected = true;
  #epoch = 0;
  /** Whether the last commands of a broken connection still reach the server. */
  readonly #lastWords = new Map<number, boolean>();
  #lastArrival = 0;
  #lastDelivery = 0;

  constructor(process: SimulatedProcess, gate: Gate, random: Random, resends: boolean) {
    this.process = process;
    this.gate = gate;
    this.random = random;
    this.#scheduler = process.scheduler;
    this.resends = resends;
  }

  get subscriptions(): number {
    return this.#subscribers.size;
  }

  call(operation: string, call: object): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const sent = this.#scheduler.now;
      const pending = { sent, operation, call: copyCall(call), resolve, reject };
      this.#pending.add(pending);
      if (this.#connected) this.#send(pending);
      else if (!this.resends) this.#fail(pending);
    });
  }

  listen(client: string, prefix: string, listener: GrantListener): Listening {
    const subscriber = new Subscriber(this, client, prefix, listener);
    this.#subscribers.add(subscriber);
    return {
      close: () => {
        this.#subscribers.delete(subscriber);
        subscriber.close();
        return Promise.resolve();
      },
    };
  }

  /** The connection for commands breaks, and comes back after the duration if the server is up. */
  cut(duration: number): void {
    this.#lastWords.set(this.#epoch, this.random.chance(0.5));
    this.#epoch += 1;
    this.#connected = false;
    if (!this.resends) {
      for (const pending of this.#pending) this.#fail(pending);
    }
    this.#reconnect(this.#scheduler.now + duration);
  }

  /** Breaks the subscriptions; `quietly`: the process notices when they are made again. */
  cutSubscribers(duration: number, quietly: boolean): void {
    for (const subscriber of this.#subscribers) subscriber.cut(duration, quietly);
  }

  /** Its process is killed; the server may not notice for long. */
  abandon(): void {
    this.#epoch += 1;
    this.#lastWords.set(this.#epoch - 1, true);
    for (const subscriber of this.#subscribers) subscriber.close();
    this.#subscribers.clear();
  }

  latency(): number {
    const { latency } = this.weather.now;
    return latency * 0.5 + this.random.exponential(latency * 0.5);
  }

  #fail(pending: Pending): void {
    this.process.runAt(this.#scheduler.now + this.random.real(0.05, 5), () => {
      if (this.#pending.delete(pending)) pending.reject(new Error('the connection is closed'));
    });
  }

  #reconnect(at: number): void {
    this.process.runAt(at, () => {
      if (!this.gate.up) return this.#reconnect(this.#scheduler.now + RECONNECT);
      this.#connected = true;
      if (this.resends) for (const pending of this.#pending) this.#send(pending);
    });
  }

  #send(pending: Pending): void {
    const { now } = this.#scheduler;
    const { loseCommands, straggle, duplicate } = this.weather.now;
    if (loseCommands > 0 && this.random.chance(loseCommands)) return;
    const epoch = this.#epoch;
    const arrive = (): void | Promise<void> => this.#arrive(pending, epoch);
    if (straggle > 0 && this.random.chance(straggle)) {
      this.#scheduler.at(now + this.random.real(100, 4000), arrive);
      return;
    }
    this.#lastArrival = Math.max(this.#lastArrival, now + this.latency());
    this.#scheduler.at(this.#lastArrival, arrive);
    if (duplicate > 0 && this.random.chance(duplicate)) {
      this.#scheduler.at(this.#lastArrival + this.random.exponential(3000), () =>
        this.gate.whenAwake(() => this.#executeUnheard(pending)),
      );
    }
  }

  #arrive(pending: Pending, epoch: number): void | Promise<void> {
    return this.gate.whenAwake(async () => {
      if (!this.gate.up || this.#lastWords.get(epoch) === false) return;
      if (this.weather.now.refuseWrites > 0 && pending.operation !== 'inspect') {
        this.#answer(pending, epoch, () => pending.reject(new RefusedError(NO_RIGHT)));
        return;
      }
      const { loseReplies } = this.weather.now;
      const lost = loseReplies > 0 && this.random.chance(loseReplies);
      const unheard = lost || epoch !== this.#epoch;
      const answer = await this.#execute(pending, unheard);
      if (!unheard) this.#answer(pending, epoch, answer);
    });
  }

  /** Gives the function that settles the call when its reply or error arrives. */
  async #execute(
    { sent, operation, call, resolve, reject }: Pending,
    unheard: boolean,
  ): Promise<() => void> {
    try {
      const way = { sent, unheard };
      const reply = await this.gate.execute(this.process.name, operation, call, way);
      return () => resolve(reply);
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      return () => reject(error);
    }
  }

  async #executeUnheard(pending: Pending): Promise<void> {
    if (this.gate.up) await this.#execute(pending, true);
  }

  #answer(pending: Pending, epoch: number, answer: () => void): void {
    this.#lastDelivery = Math.max(this.#lastDelivery, this.#scheduler.now + this.latency());
    this.process.runAt(this.#lastDelivery, () => {
      if (epoch === this.#epoch && this.#pending.delete(pending)) answer();
    });
  }
}

class Subscriber {
  readonly #link: Link;
  readonly #client: string;
  readonly #prefix: string;
  readonly #listener: GrantListener;
  #epoch = 0;
  #closed = false;
  #unsubscribe: (() => void) | undefined;
  #lastDelivery = 0;
  /** Whether its process knows that it listens: until then the process may give it up. */
  #knows = false;

  constructor(link: Link, client: string, prefix: string, listener: GrantListener) {
    this.#link = link;
    this.#client = client;
    this.#prefix = prefix;
    this.#listener = listener;
    this.#connect(this.#now + 2 * link.latency());
  }

  close(): void {
    this.#closed = true;
    this.#epoch += 1;
    this.#unsubscribe?.();
  }

  cut(duration: number, quietly: boolean): void {
    if (this.#closed) return;
    this.#epoch += 1;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#knows = false;
    const { process, random } = this.#link;
    const noticed = this.#now + (quietly ? duration : random.real(0.05, 5));
    const epoch = this.#epoch;
    process.runAt(noticed, () => {
      if (!this.#closed && epoch === this.#epoch) this.#listener.onHealth(false);
    });
    this.#connect(Math.max(noticed + 0.1, this.#now + duration));
  }

  get #now(): number {
    return this.#link.process.scheduler.now;
  }

  #connect(at: number): void {
    const { process, gate } = this.#link;
    const epoch = this.#epoch;
    const stale = (): boolean => this.#closed || epoch !== this.#epoch;
    process.runAt(at, () => {
      if (stale()) return;
      if (!gate.up) return this.#connect(this.#now + RECONNECT);
      process.scheduler.after(this.#link.latency(), () =>
        gate.whenAwake(() => {
          if (stale()) return;
          if (!gate.up) return this.#connect(this.#now + RECONNECT);
          this.#subscribe(stale);
        }),
      );
    });
  }

  #subscribe(stale: () => boolean): void {
    const listener = this.#listener;
    if (this.#link.weather.now.refuseSubscriptions > 0) {
      return this.#deliver(() => {
        if (stale()) return;
        this.#closed = true;
        listener.onFailed?.();
      });
    }
    this.#unsubscribe = this.#link.gate.subscribe(this.#client, this.#prefix, (push) => {
      const { losePushes } = this.#link.weather.now;
      if (losePushes > 0 && this.#link.random.chance(losePushes)) return this.#knows;
      this.#deliver(() => {
        if (!stale()) push(listener);
      });
      return this.#knows;
    });
    this.#deliver(() => {
      if (stale()) return;
      this.#knows = true;
      listener.onHealth(true);
    });
  }

  #deliver(what: () => void): void {
    this.#lastDelivery = Math.max(this.#lastDelivery, this.#now + this.#link.latency());
    this.#link.process.runAt(this.#lastDelivery, what);
  }
}

/** The backend of a process: the port, with a network behind it. */
export function remoteBackend(link: Link): Backend {
  // The store behind the network gives each reply the type of its call.
  const methods = OPERATIONS.map(
    (name) => [name, (call: object) => link.call(name, call)] as const,
  );
  const listen: Backend['listen'] = (...args) => link.listen(...args);
  const { clock } = link.process;
  return { ...Object.fromEntries(methods), clock, listen, isRetryable } as unknown as Backend;
}
