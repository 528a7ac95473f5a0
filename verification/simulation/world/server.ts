import type { Call, GrantListener } from '../../../src/backends/backend.js';
import { type Backend, MemoryBackend } from '../../../src/index.js';
import type { History } from '../history.js';
import type { QueueGrant, SemaphoreSettings } from '../../history/events.js';
import type { ServerClock } from './clocks.js';
import { damagedError } from './damage.js';
import { Gate, type Way } from './gate.js';
import { plainCopy } from './plain-copy.js';
import { sumOf } from '../sum-of.js';
import type { Scheduler } from './scheduler.js';
import { type AnyReply, detailsOf, grantOf } from './served.js';

export const OPERATIONS = [
  'acquire',
  'acquireTogether',
  'extend',
  'release',
  'setLimit',
  'setRate',
  'setGroupLimit',
  'addPermits',
  'adopt',
  'revoke',
  'inspect',
] as const;
export type OperationName = (typeof OPERATIONS)[number];

/** The reply of a call that got nothing. */
const NOTHING: AnyReply = { serverTime: 0, grants: [] };

/** Calls the method of a listener that the message is for. */
export type Push = (listener: GrantListener) => void;

/** Gets the pushes to one client; gives whether its process will hear of this one. */
export type PushListener = (push: Push) => boolean;

/** Operations that take calls of many semaphores at once. */
const SHARED: readonly OperationName[] = ['acquire', 'acquireTogether', 'extend', 'release'];

interface Logged {
  readonly operation: OperationName;
  readonly calls: readonly Call[];
  readonly time: number;
  /** The number of its events in the history. */
  events: number;
}

/** Opens the store that holds the server's data. */
export type OpenStore = (clock: ServerClock) => Store;

export interface Store extends Backend {
  /** Resolves when its pushes have arrived; left out: they do at once. */
  settled?(): Promise<void>;
}

/** The sender of a call, and its operation. */
interface Asked extends Way {
  readonly process: string;
  readonly operation: OperationName;
  readonly time: number;
}

/**
 * The one server: a store behind the port, whose data can be lost, or be older by some calls. It
 * records each call and its answer.
 */
export class SimulatedServer extends Gate {
  readonly clock: ServerClock;
  readonly #history: History;
  readonly #open: OpenStore;
  #store: Store;
  /** Calls that are repeated are not recorded again. */
  #replaying = false;
  #ready = Promise.resolve();
  /** The calls since the data began. */
  #log: Logged[] = [];
  /** The subscribers, by inbox. */
  readonly #subscribers = new Map<string, Set<PushListener>>();
  readonly #known = new Map<string, { client: string; prefix: string }>();
  /** The grants that the call under way has pushed, by the semaphore's name. */
  readonly #pushed = new Map<string, QueueGrant[]>();

  constructor(clock: ServerClock, history: History, scheduler: Scheduler, open?: OpenStore) {
    super(scheduler);
    this.clock = clock;
    this.#history = history;
    this.#open = open ?? (() => new MemoryBackend({ clock }));
    this.#store = this.#open(clock);
  }

  /** `given`: one call, or calls of several semaphores that travel together. */
  async execute(process: string, name: string, given: object, way: Way): Promise<unknown> {
    const operation = OPERATIONS.find((each) => each === name);
    if (operation === undefined) throw new Error(`the server has no ${name}`);
    const calls = plainCopy([given as Call | readonly Call[]].flat());
    if (operation !== 'inspect') for (const call of calls) this.#know(call);
    await this.#ready;
    await this.#store.settled?.();
    const asked = { ...way, process, operation, time: this.clock.monotonic() };
    const damaged = calls.find((call) => this.damage.isAt(call));
    if (damaged === undefined) {
      const replies = await this.#serveAll(calls, asked, true);
      return SHARED.includes(operation) ? replies : replies?.[0];
    }
    // An all-or-none acquire takes nothing before it has looked at each semaphore.
    const sound = calls.slice(0, calls.indexOf(damaged));
    if (operation !== 'acquireTogether') await this.#serveAll(sound, asked, false);
    throw damagedError(damaged);
  }

  override subscribe(client: string, prefix: string, listener: PushListener): () => void {
    const inbox = JSON.stringify([prefix, client]);
    const listeners = this.#subscribers.get(inbox) ?? new Set<PushListener>();
    this.#subscribers.set(inbox, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  override disconnectAll(): void {
    this.#subscribers.clear();
  }

  loseData(): void {
    this.#history.record('server', { type: 'server', change: 'empty' });
    this.#renew([]);
  }

  override goBack(span: number): void {
    const since = this.clock.present - span;
    const last = this.#log.findLastIndex(({ time }) => time <= since);
    const kept = this.#log.slice(0, last + 1);
    const upTo = sumOf(kept.map(({ events }) => events));
    this.#history.record('server', { type: 'server', change: 'restored', upTo });
    this.#renew(kept);
  }

  async remains(names: readonly SemaphoreSettings[]): Promise<{ held: number; waiting: number }> {
    const seen = await Promise.all(
      names.map(({ name, limit }) =>
        this.#store.inspect({ key: { prefix: 'redsem', name }, limit }),
      ),
    );
    return {
      held: sumOf(seen.map(({ held }) => held)),
      waiting: sumOf(seen.map(({ waiting }) => waiting)),
    };
  }

  override step(by: number): void {
    this.#history.record('server', { type: 'server', change: 'stepped', step: by });
    this.clock.step(by);
  }

  #renew(log: Logged[]): void {
    this.#log = log;
    this.#replaying = true;
    // An earlier replay must end first: its calls would go into the new store, too.
    this.#ready = this.#ready.then(() => this.#replay(log));
  }

  /** One call after the other, each at its own time. */
  async #replay(log: readonly Logged[]): Promise<void> {
    this.#store = this.#open(this.clock);
    for (const { operation, calls, time } of log) {
      this.clock.replay(time);
      // A script that the server has forgotten is sent twice, and reads the time twice.
      await this.#ask(operation, plainCopy(calls));
    }
    this.clock.replay(undefined);
    for (const inbox of this.#known.keys()) this.#listen(inbox);
  }

  /** One reply for each call; undefined where nothing was done. `heard`: the replies are sent. */
  async #serveAll(
    calls: readonly Call[],
    asked: Asked,
    heard: boolean,
  ): Promise<readonly AnyReply[] | undefined> {
    const all: AnyReply[] = [];
    for (const run of runsOf(calls)) {
      const replies = await this.#serve(run, asked, heard && !asked.unheard);
      if (replies === undefined) return undefined;
      all.push(...replies);
    }
    return all;
  }

  async #serve(
    calls: readonly Call[],
    asked: Asked,
    heard: boolean,
  ): Promise<readonly AnyReply[] | undefined> {
    const { operation, time } = asked;
    this.#pushed.clear();
    this.#replaying = false;
    const logged: Logged = { operation, calls, time, events: 0 };
    this.#log.push(logged);
    const replies = plainCopy(await this.#ask(operation, calls));
    // Pushes leave before the reply, or right behind it.
    await (this.#store.settled?.() ?? Promise.resolve());
    if (operation === 'inspect') return replies;
    const served = replies === undefined ? this.#lookedAt(calls) : calls;
    served.forEach((call, i) => {
      const reply = replies === undefined ? NOTHING : replies[i];
      if (reply === undefined) throw new Error(`the store has no reply to entry ${i}`);
      this.#record(call, reply, asked, heard);
    });
    logged.events = served.length;
    return replies;
  }

  /**
   * An all-or-none acquire that gets nothing has served the queues of these for certain, late or
   * not: of the first semaphore, and up to the last where it has granted a request.
   */
  #lookedAt(calls: readonly Call[]): readonly Call[] {
    const last = calls.findLastIndex(({ key }) => this.#pushed.has(key.name));
    const looked = calls.slice(0, Math.max(last, 0) + 1);
    return looked.map(({ key, limit, client }) => ({ key, limit, client }));
  }

  #ask(operation: OperationName, calls: readonly Call[]): Promise<readonly AnyReply[] | undefined> {
    const method = this.#store[operation]?.bind(this.#store);
    // A store without this operation takes none.
    if (method === undefined && operation === 'acquireTogether') return Promise.resolve(undefined);
    if (method === undefined) throw new Error(`the store has no ${operation}`);
    if (SHARED.includes(operation)) return (method as AskMany)(calls);
    return Promise.all(calls.map((call) => (method as AskOne)(call)));
  }

  #record(call: Call, reply: AnyReply, asked: Asked, heard: boolean): void {
    const { process: client, time, sent, unheard } = asked;
    const operation = asked.operation === 'acquireTogether' ? 'acquire' : asked.operation;
    const { name } = call.key;
    this.#history.record('server', {
      type: 'served',
      operation,
      semaphore: name,
      client,
      time,
      ...detailsOf(operation, call, reply),
      grants: [
        ...reply.grants.map((grant) => grantOf(grant, heard)),
        ...(this.#pushed.get(name) ?? []),
      ],
      sent,
      ...(unheard && { unheard }),
    });
  }

  /** The server listens for each client, so that the history has every grant, heard or not. */
  #know({ client, key }: Call): void {
    const inbox = JSON.stringify([key.prefix, client]);
    if (this.#known.has(inbox)) return;
    this.#known.set(inbox, { client, prefix: key.prefix });
    this.#listen(inbox);
  }

  #listen(inbox: string): void {
    const { client = '', prefix = '' } = this.#known.get(inbox) ?? {};
    const store = this.#store;
    /** Gives whether a process will hear of it; undefined: the push is of other data. */
    const push = (what: Push): boolean | undefined => {
      if (store !== this.#store || this.#replaying) return undefined;
      const listeners = [...(this.#subscribers.get(inbox) ?? [])];
      return listeners.map((listener) => listener(what)).includes(true);
    };
    store.listen?.(client, prefix, {
      onGrants: (...args) => {
        const copy = plainCopy(args);
        const heard = push((to) => to.onGrants(...copy));
        if (heard === undefined) return;
        const [grants, name] = args;
        const pushed = this.#pushed.get(name) ?? [];
        this.#pushed.set(name, pushed);
        pushed.push(...grants.map((grant) => grantOf(grant, heard)));
      },
      onEnded: (...args) => void push((to) => to.onEnded?.(...args)),
      onTurn: (...args) => void push((to) => to.onTurn?.(...args)),
      onHealth: () => undefined,
    });
  }
}

type AskMany = (calls: readonly Call[]) => Promise<readonly AnyReply[] | undefined>;
type AskOne = (call: Call) => Promise<AnyReply>;

/** Runs of calls that name each semaphore once, so that every push belongs to one call. */
function runsOf(calls: readonly Call[]): Call[][] {
  const runs: Call[][] = [[]];
  for (const call of calls) {
    const isAgain = runs.at(-1)?.some(({ key }) => key.name === call.key.name) === true;
    if (isAgain) runs.push([]);
    runs.at(-1)?.push(call);
  }
  return runs;
}
