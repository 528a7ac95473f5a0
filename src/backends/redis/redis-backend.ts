import type {
  AcquireCall,
  AcquireReply,
  AdoptCall,
  AdoptReply,
  Backend,
  Call,
  ExtendCall,
  ExtendReply,
  GrantListener,
  HolderState,
  InspectCall,
  InspectReply,
  Listening,
  ReleaseCall,
  ReleaseReply,
  Reply,
  RevokeCall,
  RevokeReply,
  SemaphoreKey,
  SetLimitCall,
  SetLimitReply,
  TicketRequest,
  WaiterState,
} from '../backend.js';
import { systemClock } from '../../time/clock.js';
import { UnfitServerError } from '../backend.js';
import type { RedisConnection } from './connection.js';
import { inboxChannels, keysOf, stripesKeyOf } from './keys.js';
import {
  parseAcquire,
  parseAdopt,
  parseExtend,
  parseInspect,
  parseNumbers,
  parseRelease,
  parseRevoke,
  parseSetLimit,
  UnexpectedReplyError,
} from './replies.js';
import { parsePush } from './push-message.js';
import { isReadOnlyError, isRetryableError } from './redis-errors.js';
import { runScript } from './script-runner.js';
import type { Script } from './compose-script.js';
import {
  acquireScript,
  adoptScript,
  evictionScript,
  extendScript,
  inspectScript,
  noteStripesScript,
  releaseScript,
  revokeScript,
  setLimitScript,
} from './scripts.js';
import { ServerCheck } from './server-check.js';

/** Entries that `inspect` reads with one command, so that a large semaphore does not block the server. */
const PAGE = 500;

/** How long a server may say that it is read-only before that counts as final, in milliseconds. */
const READ_ONLY_PATIENCE = 5000;

/** Tickets in sorted sets on one Redis server, or on the node of a cluster that has the semaphore's slot. */
export class RedisBackend implements Backend {
  readonly #connection: RedisConnection;
  /** When a row of read-only replies began, and when the last one came. */
  #readOnlySince = -Infinity;
  #readOnlyAt = -Infinity;
  readonly #keys = new WeakMap<SemaphoreKey, readonly string[]>();
  readonly #check: ServerCheck;
  readonly listen?: (client: string, prefix: string, listener: GrantListener) => Listening;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
    this.#check = new ServerCheck(connection);
    const subscribe = connection.subscribe?.bind(connection);
    if (subscribe === undefined) return;
    this.listen = (client, prefix, listener) =>
      subscribe(inboxChannels(prefix) + client, {
        onMessage: (message) => {
          const push = parsePush(message, client);
          if (push === undefined) return;
          if (push.grants.length > 0) listener.onGrants(push.grants, push.name);
          if (push.ended.length > 0) listener.onEnded?.(push.ended, push.name);
        },
        onHealth: (healthy) => listener.onHealth(healthy),
        onFailed: () => listener.onFailed?.(),
      });
  }

  get hasReplicas(): boolean {
    return this.#connection.replication !== undefined;
  }

  acquire(calls: readonly AcquireCall[]): Promise<readonly AcquireReply[]> {
    return Promise.all(calls.map((call) => this.#acquireOne(call)));
  }

  #acquireOne(call: AcquireCall): Promise<AcquireReply> {
    const { replicas } = call;
    return replicas === undefined ? this.#acquire(call) : this.#acquireOnReplicas(call, replicas);
  }

  async #acquireOnReplicas(call: AcquireCall, replicas: Replicas): Promise<AcquireReply> {
    const { atLeast, timeout } = replicas;
    const acknowledged = this.#connection.replication?.();
    const reply = await this.#acquire(call);
    if (!reply.verdicts.some(({ kind }) => kind === 'granted')) return reply;
    const count = (await acknowledged?.(atLeast, timeout)) ?? 0;
    if (count >= atLeast) return reply;
    return { ...reply, tooFewReplicas: new TooFewReplicasError(count, atLeast, timeout) };
  }

  #acquire(call: AcquireCall): Promise<AcquireReply> {
    const { requests } = call;
    const run = [...terms(call), encodeURIComponent(call.label), latest(call.notAfter)];
    return this.#run(acquireScript, call, [...run, asText(requests)], (text) =>
      parseAcquire(text, requests.length),
    );
  }

  extend(calls: readonly ExtendCall[]): Promise<readonly ExtendReply[]> {
    return Promise.all(calls.map((call) => this.#extendOne(call)));
  }

  #extendOne(call: ExtendCall): Promise<ExtendReply> {
    const { ids, fencingTokens = [] } = call;
    const run = [
      ...terms(call),
      `${JSON.stringify(ids)}|${JSON.stringify(fencingTokens.map(String))}`,
    ];
    return this.#run(extendScript, call, run, (text) => parseExtend(text, ids));
  }

  release(calls: readonly ReleaseCall[]): Promise<readonly ReleaseReply[]> {
    return Promise.all(calls.map((call) => this.#releaseOne(call)));
  }

  async #releaseOne(call: ReleaseCall): Promise<ReleaseReply> {
    const once = [...new Set(call.ids)];
    const reply = await this.#release(call, once);
    if (once.length === call.ids.length) return reply;
    const { released } = reply;
    const isFirst = (id: string, i: number) => call.ids.indexOf(id) === i;
    const gone = new Set(once.filter((_, i) => released[i] === true));
    return { ...reply, released: call.ids.map((id, i) => gone.has(id) && isFirst(id, i)) };
  }

  #release(call: ReleaseCall, ids: readonly string[]): Promise<ReleaseReply> {
    const run = [String(call.limit), listed(ids)];
    return this.#run(releaseScript, call, run, (text) => parseRelease(text, ids));
  }

  setLimit(call: SetLimitCall): Promise<SetLimitReply> {
    const args = [String(call.limit), String(call.newLimit), latest(call.notAfter)];
    return this.#run(setLimitScript, call, args, parseSetLimit);
  }

  adopt(call: AdoptCall): Promise<AdoptReply> {
    const { label, id, newId, notAfter } = call;
    const args = [...terms(call), encodeURIComponent(label), latest(notAfter), id, newId];
    return this.#run(adoptScript, call, args, parseAdopt);
  }

  revoke(call: RevokeCall): Promise<RevokeReply> {
    return this.#run(revokeScript, call, [String(call.limit), call.id], parseRevoke);
  }

  async inspect(call: InspectCall): Promise<InspectReply> {
    const holders = new Map<string, HolderState>();
    const waiters = new Map<string, WaiterState>();
    const keys = this.#keysOf(call.key);
    let { limit } = call;
    let [cursor, arrival] = ['0', '0'];
    const read = new Set<string>();
    while (cursor !== '' || arrival !== '') {
      const place = `${cursor} ${arrival}`;
      // A server that goes in circles is not followed for ever.
      if (read.has(place)) throw new UnexpectedReplyError('inspect', place);
      read.add(place);
      const args = [cursor, arrival, String(PAGE)];
      const page = parseInspect(await runScript(this.#connection, inspectScript, keys, args));
      for (const holder of page.holders) holders.set(holder.id, holder);
      for (const waiter of page.waiters) {
        waiters.set(waiter.id, { ...waiter, position: waiters.size });
      }
      ({ cursor, arrival } = page);
      limit = page.storedLimit ?? limit;
    }
    const bySlot = [...holders.values()].toSorted((a, b) => (a.slots[0] ?? 0) - (b.slots[0] ?? 0));
    const held = bySlot.reduce((sum, { slots }) => sum + slots.length, 0);
    return { limit, held, waiting: waiters.size, holders: bySlot, waiters: [...waiters.values()] };
  }

  async noteStripes(key: SemaphoreKey, stripes: number): Promise<readonly number[]> {
    const keys = stripesKeyOf(key);
    const args = [String(stripes)];
    return parseNumbers(await runScript(this.#connection, noteStripesScript, keys, args));
  }

  /** A server that may evict keys under memory pressure may evict a semaphore's, and then its limit is not kept. */
  async findHazard(key: SemaphoreKey): Promise<string | undefined> {
    const meta = this.#keysOf(key).slice(1, 2);
    const reply = await runScript(this.#connection, evictionScript, meta, []).catch(() => '');
    const [maxmemory, policy] = String(reply).split(' ');
    if (policy === undefined || policy === 'noeviction' || maxmemory === '0') return undefined;
    return `the server's maxmemory-policy is ${policy}, which may evict a semaphore's keys: set noeviction`;
  }

  isRetryable(error: unknown): boolean {
    if (error instanceof UnexpectedReplyError || error instanceof UnfitServerError) return false;
    if (this.#connection.isClosed?.() === true) return false;
    if (!isReadOnlyError(error)) return isRetryableError(error);
    // A failover passes; a client that was pointed at a replica stays read-only.
    const now = systemClock.monotonic();
    if (now - this.#readOnlyAt > READ_ONLY_PATIENCE) this.#readOnlySince = now;
    this.#readOnlyAt = now;
    return now - this.#readOnlySince < READ_ONLY_PATIENCE;
  }

  #run<R extends Reply>(
    script: Script,
    call: Call,
    rest: readonly string[],
    parse: (reply: unknown) => R,
  ): Promise<R> {
    const args = [inboxChannels(call.key.prefix) + call.client, ...rest];
    const keys = this.#keysOf(call.key);
    const ran = runScript(this.#connection, script, keys, args).then((reply) => {
      this.#readOnlyAt = -Infinity;
      return parse(reply);
    });
    return this.#check.passed
      ? ran
      : this.#check.confirm(ran, ({ serverTime }) => serverTime, keys);
  }

  #keysOf(key: SemaphoreKey): readonly string[] {
    let keys = this.#keys.get(key);
    if (keys === undefined) this.#keys.set(key, (keys = keysOf(key)));
    return keys;
  }
}

type Replicas = NonNullable<AcquireCall['replicas']>;

/** A permit was granted but too few replicas acknowledged it. */
class TooFewReplicasError extends Error {
  constructor(count: number, atLeast: number, timeout: number) {
    super(`${count} of ${atLeast} replicas acknowledged the ticket within ${timeout} ms`);
    this.name = 'TooFewReplicasError';
  }
}

/** Limit and ttl of a call as scripts take them. */
function terms({ limit, ttl }: { readonly limit: number; readonly ttl: number }): string[] {
  return [String(limit), microseconds(ttl)];
}

/** The last moment at which a call may act. Scripts compare it as text, with the server's time. */
function latest(notAfter: number | undefined): string {
  return notAfter === undefined ? '' : microseconds(notAfter).padStart(16, '0');
}

function microseconds(milliseconds: number): string {
  return Math.round(milliseconds * 1000).toFixed(0);
}

/** See `acquire.lua`. */
function asText(requests: readonly TicketRequest[]): string {
  const ids = requests.map(({ id }) => id);
  const [first] = requests;
  const plain = requests.every(({ permits, arrival }) => permits === 1 && arrival === undefined);
  if (plain && requests.length === 1) return `${first?.wait === true ? '' : '?'}${ids.join('')}`;
  if (plain && requests.every(({ wait }) => wait)) return listed(ids);
  const kinds = requests.map(({ wait }) => (wait ? 'w' : 't')).join('');
  const known = requests.some(({ arrival }) => arrival !== undefined);
  const places = known ? JSON.stringify(requests.map(({ arrival = 0 }) => arrival)) : '';
  return `${JSON.stringify(ids)}|${kinds}|${places}`;
}

/** Ids as scripts take them: a single one is read faster as it is. */
function listed(ids: readonly string[]): string {
  return ids.length === 1 ? ids.join('') : JSON.stringify(ids);
}
