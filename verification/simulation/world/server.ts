import {
  type AcquireCall,
  type AcquireReply,
  type AdoptCall,
  type AdoptReply,
  type Backend,
  type Call,
  type ExtendCall,
  type ExtendReply,
  type GrantListener,
  MemoryBackend,
  type PushedGrant,
  type ReleaseCall,
  type ReleaseReply,
  type RevokeCall,
  type RevokeReply,
  type SetLimitCall,
  type SetLimitReply,
} from '../../../src/index.js';
import type { History } from '../history.js';
import type { QueueGrant, SemaphoreTerms, ServedEvent } from '../../history/events.js';
import type { ServerClock } from './clocks.js';
import { plainCopy } from './plain-copy.js';
import { sumOf } from '../sum-of.js';
import type { Scheduler } from './scheduler.js';

export const OPERATIONS = [
  'acquire',
  'extend',
  'release',
  'setLimit',
  'adopt',
  'revoke',
  'inspect',
] as const;
export type OperationName = (typeof OPERATIONS)[number];

export type Push =
  | { readonly kind: 'grants'; readonly args: Parameters<GrantListener['onGrants']> }
  | {
      readonly kind: 'ended';
      readonly args: Parameters<NonNullable<GrantListener['onEnded']>>;
    };

/** Gets what the server sends to one client. */
export type PushListener = (push: Push) => void;

interface Logged {
  readonly operation: OperationName;
  readonly call: Call;
  readonly time: number;
}

/** What a reply is to the server; the fields that the history needs. */
type AnyReply = Partial<AcquireReply & ExtendReply & ReleaseReply & AdoptReply & RevokeReply> &
  SetLimitReply;

/** Opens the store that stands for the server's data. */
export type OpenStore = (clock: ServerClock) => Store;

export interface Store extends Backend {
  /** Resolves when all that it has sent is in; left out: that is at once. */
  settled?(): Promise<void>;
}

export interface ServerOptions {
  readonly clock: ServerClock;
  readonly history: History;
  readonly scheduler: Scheduler;
  readonly open?: OpenStore | undefined;
}

/**
 * The one server: a store behind the port, whose data can be lost, or be as they were some calls ago. Takes down what it was asked
 * and what it answered.
 */
export class SimulatedServer {
  readonly clock: ServerClock;
  readonly #history: History;
  readonly #scheduler: Scheduler;
  readonly #open: OpenStore;
  #store: Store;
  /** What is done again is told nobody again. */
  #replaying = false;
  #ready = Promise.resolve();
  /** What has been done since the data began. */
  #log: Logged[] = [];
  /** Who subscribes to what, by inbox. */
  readonly #subscribers = new Map<string, Set<PushListener>>();
  readonly #known = new Map<string, { client: string; prefix: string }>();
  /** What the call under way has sent to anybody. */
  #grants: QueueGrant[] = [];

  constructor({ clock, history, scheduler, open }: ServerOptions) {
    this.clock = clock;
    this.#history = history;
    this.#scheduler = scheduler;
    this.#open = open ?? (() => new MemoryBackend({ clock }));
    this.#store = this.#open(clock);
  }

  /** How many subscriptions there are. */
  get subscriptions(): number {
    let count = 0;
    for (const listeners of this.#subscribers.values()) count += listeners.size;
    return count;
  }

  async execute(
    process: string,
    operation: OperationName,
    given: Call,
    unheard: boolean,
  ): Promise<unknown> {
    const call = plainCopy(given);
    if (operation !== 'inspect') this.#know(call);
    await this.#ready;
    await this.#store.settled?.();
    const time = this.clock.monotonic();
    const method = this.#store[operation]?.bind(this.#store) as
      ((call: Call) => Promise<AnyReply>) | undefined;
    if (method === undefined) throw new Error(`the store has no ${operation}`);
    this.#grants = [];
    this.#replaying = false;
    this.#log.push({ operation, call, time });
    const reply = plainCopy(await method(call));
    // What is pushed is on its way before the reply, or right behind it.
    await (this.#store.settled?.() ?? Promise.resolve());
    if (operation !== 'inspect') {
      const details = detailsOf(operation, call, reply);
      const grants = [...reply.grants.map((grant) => grantOf(grant, !unheard)), ...this.#grants];
      const what = { operation, semaphore: call.key.name, client: process, time };
      const heard = unheard ? { unheard } : {};
      this.#history.record({
        ...this.#now(),
        type: 'served',
        ...what,
        ...details,
        grants,
        ...heard,
      });
    }
    this.#grants = [];
    return reply;
  }

  subscribe(client: string, prefix: string, listener: PushListener): () => void {
    const inbox = JSON.stringify([prefix, client]);
    const listeners = this.#subscribers.get(inbox) ?? new Set<PushListener>();
    this.#subscribers.set(inbox, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  disconnectAll(): void {
    this.#subscribers.clear();
  }

  /** Comes back with nothing. */
  loseData(): void {
    this.#history.record({ ...this.#now(), type: 'server', change: 'empty' });
    this.#renew([]);
  }

  /** Comes back with the data as they were so many milliseconds ago. */
  goBack(span: number): void {
    const since = this.clock.present - span;
    const last = this.#log.findLastIndex(({ time }) => time <= since);
    const kept = this.#log.slice(0, last + 1);
    const upTo = kept.filter(({ operation }) => operation !== 'inspect').length;
    this.#history.record({ ...this.#now(), type: 'server', change: 'restored', upTo });
    this.#renew(kept);
  }

  /** What it still holds of some semaphores. */
  async remains(names: readonly SemaphoreTerms[]): Promise<{ held: number; waiting: number }> {
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

  step(by: number): void {
    this.#history.record({ ...this.#now(), type: 'server', change: 'stepped', step: by });
    this.clock.step(by);
  }

  #now() {
    return { at: this.#scheduler.now, process: 'server' };
  }

  #renew(log: Logged[]): void {
    this.#log = log;
    this.#replaying = true;
    // What is still being done again must end first: it would go into the new store, too.
    this.#ready = this.#ready.then(() => this.#replay(log));
  }

  /** One call after the other, each at its own time. */
  async #replay(log: readonly Logged[]): Promise<void> {
    this.#store = this.#open(this.clock);
    for (const { operation, call, time } of log) {
      const method = this.#store[operation]?.bind(this.#store) as
        ((call: Call) => Promise<unknown>) | undefined;
      this.clock.replay(time);
      // A script that the server has forgotten is sent twice, and reads the time twice.
      await method?.(plainCopy(call));
    }
    this.clock.replay(undefined);
    for (const inbox of this.#known.keys()) this.#listen(inbox);
  }

  /** Whoever has asked is listened for, so that the history has every grant, whether anybody hears it or not. */
  #know({ client, key }: Call): void {
    const inbox = JSON.stringify([key.prefix, client]);
    if (this.#known.has(inbox)) return;
    this.#known.set(inbox, { client, prefix: key.prefix });
    this.#listen(inbox);
  }

  #listen(inbox: string): void {
    const { client = '', prefix = '' } = this.#known.get(inbox) ?? {};
    const store = this.#store;
    const push = (what: Push): void => {
      if (store !== this.#store || this.#replaying) return;
      const listeners = [...(this.#subscribers.get(inbox) ?? [])];
      if (what.kind === 'grants') {
        this.#grants.push(...what.args[0].map((grant) => grantOf(grant, listeners.length > 0)));
      }
      for (const listener of listeners) listener(plainCopy(what));
    };
    store.listen?.(client, prefix, {
      onGrants: (...args) => push({ kind: 'grants', args }),
      onEnded: (...args) => push({ kind: 'ended', args }),
      onHealth: () => undefined,
    });
  }
}

function grantOf({ id, fencingToken, slots, expiresAt }: PushedGrant, heard: boolean): QueueGrant {
  return { id, token: fencingToken, slots, expiresAt, heard };
}

type Details = Omit<
  ServedEvent,
  'at' | 'process' | 'type' | 'operation' | 'semaphore' | 'client' | 'time' | 'grants'
>;

function detailsOf(operation: OperationName, call: Call, reply: AnyReply): Details {
  const given = call as Call &
    Partial<AcquireCall & ExtendCall & ReleaseCall & AdoptCall & RevokeCall & SetLimitCall>;
  const ids = given.ids ?? [];
  const details: { -readonly [K in keyof Details]: Details[K] } = {};
  if (given.ttl !== undefined) details.ttl = given.ttl;
  if (given.notAfter !== undefined) details.notAfter = given.notAfter;
  if (reply.late === true) details.late = true;
  if (operation === 'acquire') details.requests = requestsOf(given.requests ?? [], reply);
  if (operation === 'extend') {
    details.tickets = ids.map((id, i) => {
      const token = given.fencingTokens?.[i];
      return {
        id,
        there: reply.extended?.[i] === true,
        ...(token !== undefined && { token }),
      };
    });
  }
  if (operation === 'release') {
    details.tickets = ids.map((id, i) => ({ id, there: reply.released?.[i] === true }));
  }
  if (operation === 'revoke') {
    details.tickets = [{ id: given.id ?? '', there: reply.revoked === true }];
  }
  if (given.newLimit !== undefined) details.newLimit = given.newLimit;
  if (operation === 'adopt' && reply.ticket !== undefined) {
    const { slots, fencingToken: token, before } = reply.ticket;
    details.adopted = { id: given.newId ?? '', token, slots, expiresAt: 0, before };
  }
  return details;
}

function requestsOf(requests: AcquireCall['requests'], reply: AnyReply) {
  return requests.map(({ id, permits, wait, arrival }, i) => {
    const verdict = reply.verdicts?.[i];
    const own = arrival === undefined ? {} : { arrival };
    const request = { id, permits, wait, ...own, verdict: verdict?.kind ?? 'none' };
    if (verdict?.kind === 'queued' && verdict.arrival !== undefined) {
      return { ...request, place: verdict.arrival };
    }
    if (verdict?.kind !== 'granted') return request;
    return { ...request, token: verdict.fencingToken, slots: verdict.slots };
  });
}
