import { setImmediate } from 'node:timers/promises';
import type * as port from '../backend.js';
import { checkOptions } from '../../arguments/known-options.js';
import { checkClock } from '../../arguments/resolve.js';
import { systemClock, type Clock } from '../../time/clock.js';
import { overviewOf } from '../overview-of.js';
import { mapKeyOf } from '../map-key.js';
import { KEYS_LIFE_MS } from '../protocol.js';
import * as script from './calls.js';
import { acquire, isFree } from './requests.js';
import { isOver, type Semaphore } from './semaphore.js';
import { Server } from './server.js';

/** After how many requests and tickets a reply waits until the event loop has had its turn. */
const MOST_IN_A_ROW = 500;

/** The options of a `MemoryBackend`. */
export interface MemoryBackendOptions {
  /** Default: the process's own clock. Semaphores on this backend use it, too. */
  readonly clock?: Clock | undefined;
}

type Method<Name extends keyof port.Backend> = NonNullable<port.Backend[Name]>;

/** A call, and how many requests or tickets it names. */
interface Keyed {
  readonly key: port.SemaphoreKey;
  readonly requests?: readonly unknown[];
  readonly ids?: readonly unknown[];
}

type Act<C, R> = (semaphore: Semaphore, call: C) => R;

/**
 * The embedded backend: tickets in this process's memory, no server. It keeps the same promises as
 * Redis, among all semaphores that share the object.
 */
export class MemoryBackend implements port.Backend {
  readonly clock: Clock;
  readonly #server: Server;
  /** The stripes of keyed mutexes, and until when these are remembered. */
  readonly #stripes = new Map<string, { mapKey: string; stripes: number; until: number }>();
  /** Requests and tickets in the calls since a reply waited. */
  #inARow = 0;
  readonly acquire: Method<'acquire'> = this.#each(acquire);
  readonly extend: Method<'extend'> = this.#each(script.renewEach);
  readonly release: Method<'release'> = this.#each(script.giveBack);
  readonly setLimit: Method<'setLimit'> = this.#alone(script.setLimit);
  readonly setRate: Method<'setRate'> = this.#alone(script.setRate);
  readonly setGroupLimit: Method<'setGroupLimit'> = this.#alone(script.setGroupLimit);
  readonly addPermits: Method<'addPermits'> = this.#alone(script.addPermits);
  readonly adopt: Method<'adopt'> = this.#alone(script.adopt);
  readonly revoke: Method<'revoke'> = this.#alone(script.revoke);
  readonly inspect: Method<'inspect'> = this.#alone(script.inspect);
  readonly acquireTogether: Method<'acquireTogether'> = async (calls) => {
    this.#server.begin();
    return calls.every((call) => this.#on(call, isFree)) ? this.acquire(calls) : undefined;
  };

  constructor(options: MemoryBackendOptions = {}) {
    checkOptions(options, 'clock');
    const { clock = systemClock } = options;
    this.clock = checkClock(clock);
    this.#server = new Server(this.clock);
  }

  /** @internal Names that take memory. */
  get size(): number {
    return this.#server.semaphores.size;
  }

  /** See `Backend`. */
  overview(keys: readonly port.SemaphoreKey[]): Promise<readonly port.OverviewReply[]> {
    const sumUp = this.#each((s, call: port.InspectCall) => overviewOf(script.inspect(s, call)));
    return sumUp(keys.map((key) => ({ key, limit: 0 })));
  }

  async listNames(prefix: string): Promise<port.NamePage> {
    this.#server.begin();
    const missed = [...this.#server.semaphores.values()].filter((semaphore) => !isOver(semaphore));
    const names = missed.flatMap(({ key }) => (key.prefix === prefix ? key.name : []));
    return { names, cursor: '' };
  }

  async noteStripes(key: port.SemaphoreKey, stripes: number): Promise<readonly number[]> {
    this.#server.begin();
    const [mapKey, { now }] = [mapKeyOf(key), this.#server];
    this.#stripes.set(`${stripes} ${mapKey}`, { mapKey, stripes, until: now + KEYS_LIFE_MS });
    for (const [note, { until }] of this.#stripes) if (until < now) this.#stripes.delete(note);
    const own = [...this.#stripes.values()].filter((noted) => noted.mapKey === mapKey);
    return own.map((noted) => noted.stripes);
  }

  listen(client: string, _prefix: string, listener: port.GrantListener): port.Listening {
    return this.#server.listen(client, listener);
  }

  #alone<C extends Keyed, R>(act: Act<C, R>): (call: C) => Promise<R> {
    return (call) => {
      this.#server.begin();
      return this.#reply(this.#on(call, act));
    };
  }

  #each<C extends Keyed, R>(act: Act<C, R>): (calls: readonly C[]) => Promise<readonly R[]> {
    return (calls) => {
      this.#server.begin();
      return this.#reply(calls.map((call) => this.#on(call, act)));
    };
  }

  #on<C extends Keyed, R>(call: C, act: Act<C, R>): R {
    this.#inARow += (call.requests ?? call.ids)?.length ?? 1;
    return act(this.#server.find(call.key), call);
  }

  #reply<R>(reply: R): Promise<R> {
    if (this.#inARow < MOST_IN_A_ROW) return Promise.resolve(reply);
    // A server's replies come from the event loop, these replies do not: if each made its caller
    // call again, nothing else would ever run.
    this.#inARow = 0;
    return setImmediate(reply);
  }
}
