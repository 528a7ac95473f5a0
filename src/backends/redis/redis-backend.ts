import type {
  AcquireCall,
  AcquireReply,
  AddPermitsCall,
  AddPermitsReply,
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
  NamePage,
  OverviewReply,
  ReleaseCall,
  ReleaseReply,
  ReplicaRequirement,
  Reply,
  RevokeCall,
  RevokeReply,
  SemaphoreKey,
  SetLimitCall,
  SetLimitReply,
  SetRateCall,
  SetRateReply,
  WaiterState,
} from '../backend.js';
import { allOrNone } from '../all-or-none.js';
import { UnfitServerError } from '../backend.js';
import { unasked } from '../gcra.js';
import { INSPECT_PAGE } from '../protocol.js';
import type { RedisConnection } from './connection.js';
import { inboxChannels, keysOf, stripesKeyOf } from './keys.js';
import { inOrderOfGrants } from '../request-order.js';
import type { InspectPage, WaitingRequest } from './inspect-replies.js';
import { parseInspect, parseOverview } from './inspect-replies.js';
import type { ReplyPart } from './replies.js';
import { parseNumbers, partsOf, saysBusy, UnexpectedReplyError } from './replies.js';
import { namePage } from './name-pages.js';
import { parsePush } from './push-message.js';
import { parseRate } from './rate-text.js';
import { isReadOnlyError, isRetryableError, ReadOnlyRule } from './redis-errors.js';
import { runScript } from './script-runner.js';
import type { Script } from './compose-script.js';
import {
  acquireOperation,
  addPermitsOperation,
  adoptOperation,
  extendOperation,
  releaseOperation,
  revokeOperation,
  setLimitOperation,
  setRateOperation,
} from './operations.js';
import type { Operation, ScriptCall } from './script-call.js';
import { readReplies, scriptCalls } from './script-call.js';
import { evictionScript, inspectScript, noteStripesScript, overviewScript } from './scripts.js';
import { ServerCheck } from './server-check.js';
import { WithReplicas } from './with-replicas.js';

/**
 * Tickets in sorted sets on one Redis server, or on the node of a cluster that has the semaphore's
 * slot.
 */
export class RedisBackend implements Backend {
  readonly #connection: RedisConnection;
  readonly #readOnly = new ReadOnlyRule();
  readonly #check: ServerCheck;
  /**
   * On a cluster, each semaphore by itself: a name is its own hash tag, so two names share a slot
   * by chance alone. Elsewhere all share.
   */
  readonly laneOf?: (key: SemaphoreKey) => string;
  readonly #withReplicas = new Map<string, Backend>();
  readonly withReplicas?: (required: ReplicaRequirement) => Backend;
  readonly listen?: (client: string, prefix: string, listener: GrantListener) => Listening;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
    this.#check = new ServerCheck(connection);
    if (connection.eachMaster !== undefined) {
      this.laneOf = (key) => keysOf(key)[0] ?? key.prefix;
    }
    const replication = connection.replication?.bind(connection);
    if (replication !== undefined) {
      this.withReplicas = (required) => this.#wrapped(replication, required);
    }
    const subscribe = connection.subscribe?.bind(connection);
    if (subscribe === undefined) return;
    this.listen = (client, prefix, listener) =>
      subscribe(inboxChannels(prefix) + client, {
        onMessage: (message) => {
          const push = parsePush(message, client);
          if (push === undefined) return;
          if (push.grants.length > 0) listener.onGrants(push.grants, push.name);
          if (push.ended.length > 0) listener.onEnded?.(push.ended, push.name);
          for (const turn of push.turns) listener.onTurn?.(turn, push.name);
        },
        onHealth: (healthy) => listener.onHealth(healthy),
        onFailed: () => listener.onFailed?.(),
      });
  }

  acquire(calls: readonly AcquireCall[]): Promise<readonly AcquireReply[]> {
    return this.#run(acquireOperation, calls);
  }

  async acquireTogether(
    calls: readonly AcquireCall[],
  ): Promise<readonly AcquireReply[] | undefined> {
    const together = allOrNone(calls);
    if (together === undefined) return undefined;
    const [call, ...others] = scriptCalls(together, acquireOperation, '*');
    if (call === undefined || others.length > 0) return undefined;
    const parts = await this.#send(acquireOperation.script, call);
    if (saysBusy(parts)) return undefined;
    const replies: AcquireReply[] = [];
    readReplies(call, parts, acquireOperation, replies);
    return replies;
  }

  extend(calls: readonly ExtendCall[]): Promise<readonly ExtendReply[]> {
    return this.#run(extendOperation, calls);
  }

  release(calls: readonly ReleaseCall[]): Promise<readonly ReleaseReply[]> {
    return this.#run(releaseOperation, calls);
  }

  setLimit(call: SetLimitCall): Promise<SetLimitReply> {
    return this.#runAlone(setLimitOperation, call);
  }

  setRate(call: SetRateCall): Promise<SetRateReply> {
    return this.#runAlone(setRateOperation, call);
  }

  addPermits(call: AddPermitsCall): Promise<AddPermitsReply> {
    return this.#runAlone(addPermitsOperation, call);
  }

  adopt(call: AdoptCall): Promise<AdoptReply> {
    return this.#runAlone(adoptOperation, call);
  }

  revoke(call: RevokeCall): Promise<RevokeReply> {
    return this.#runAlone(revokeOperation, call);
  }

  async inspect(call: InspectCall): Promise<InspectReply> {
    const holders = new Map<string, HolderState>();
    const waiting = new Map<string, WaitingRequest>();
    const keys = keysOf(call.key);
    let limit: Pick<InspectReply, 'limit' | 'limitFrom'> = {
      limit: call.limit,
      limitFrom: 'options',
    };
    let rate = unasked(call.rate);
    let [cursor, arrival] = ['0', '0'];
    let timeOf = (_: number): number => 0;
    const read = new Set<string>();
    while (cursor !== '' || arrival !== '') {
      const place = `${cursor} ${arrival}`;
      // A server that goes in circles is not followed for ever.
      if (read.has(place)) throw new UnexpectedReplyError('inspect', place);
      read.add(place);
      const args = [cursor, arrival, String(INSPECT_PAGE)];
      const page = parseInspect(await runScript(this.#connection, inspectScript, keys, args));
      for (const holder of page.holders) holders.set(holder.id, holder);
      for (const waiter of page.waiters) waiting.set(waiter.id, waiter);
      ({ cursor, arrival, timeOf } = page);
      limit = limitOf(page) ?? limit;
      const known = parseRate(page.rate, page.serverTime);
      if (known !== undefined) rate = known ?? undefined;
    }
    const bySlot = [...holders.values()].toSorted((a, b) => (a.slots[0] ?? 0) - (b.slots[0] ?? 0));
    const held = bySlot.reduce((sum, { slots }) => sum + slots.length, 0);
    const waiters = inOrderOfGrants([...waiting.values()], timeOf).map(waiterState);
    const rules = { ...limit, ...(rate !== undefined && { rate }) };
    return { ...rules, held, waiting: waiters.length, holders: bySlot, waiters };
  }

  async overview(keys: readonly SemaphoreKey[]): Promise<readonly OverviewReply[]> {
    // On a cluster two names share a slot by chance alone.
    const together = this.laneOf === undefined ? keys : keys.slice(0, 1);
    if (together.length === 0) return [];
    const all = together.flatMap(keysOf);
    const reply = await runScript(this.#connection, overviewScript, all, []);
    return partsOf('overview', reply).map(parseOverview);
  }

  listNames(prefix: string, cursor: string): Promise<NamePage> {
    return namePage(this.#connection, prefix, cursor);
  }

  async noteStripes(key: SemaphoreKey, stripes: number): Promise<readonly number[]> {
    const keys = stripesKeyOf(key);
    const args = [String(stripes)];
    return parseNumbers(await runScript(this.#connection, noteStripesScript, keys, args));
  }

  /**
   * A server that may evict keys under memory pressure may evict a semaphore's, and then its limit
   * is not kept.
   */
  async findHazard(key: SemaphoreKey): Promise<string | undefined> {
    const meta = keysOf(key).slice(1, 2);
    const reply = await runScript(this.#connection, evictionScript, meta, []).catch(() => '');
    const [maxmemory, policy] = String(reply).split(' ');
    if (policy === undefined || policy === 'noeviction' || maxmemory === '0') return undefined;
    return `the server's maxmemory-policy is ${policy}, which may evict a semaphore's keys: set noeviction`;
  }

  isRetryable(error: unknown): boolean {
    if (error instanceof UnexpectedReplyError || error instanceof UnfitServerError) return false;
    if (this.#connection.isClosed?.() === true) return false;
    return isReadOnlyError(error) ? this.#readOnly.onReadOnly() : isRetryableError(error);
  }

  async #run<C extends Call, R extends Reply>(
    operation: Operation<C, R>,
    calls: readonly C[],
  ): Promise<readonly R[]> {
    const replies: R[] = [];
    const sent = scriptCalls(calls, operation).map(async (call) => {
      readReplies(call, await this.#send(operation.script, call), operation, replies);
    });
    await Promise.all(sent);
    return replies;
  }

  async #runAlone<C extends Call, R extends Reply>(
    operation: Operation<C, R>,
    call: C,
  ): Promise<R> {
    const [reply] = await this.#run(operation, [call]);
    if (reply === undefined) throw new UnexpectedReplyError(operation.script.name, reply);
    return reply;
  }

  #wrapped(
    replication: NonNullable<RedisConnection['replication']>,
    required: ReplicaRequirement,
  ): Backend {
    const place = `${required.atLeast} ${required.timeout}`;
    let wrapped = this.#withReplicas.get(place);
    if (wrapped === undefined) {
      wrapped = new WithReplicas(this, replication, required);
      this.#withReplicas.set(place, wrapped);
    }
    return wrapped;
  }

  #send(script: Script, { keys, args }: ScriptCall<unknown>): Promise<readonly ReplyPart[]> {
    const sent = runScript(this.#connection, script, keys, args).then((reply) => {
      this.#readOnly.onReply();
      return partsOf(script.name, reply);
    });
    if (this.#check.passed) return sent;
    return this.#check.confirm(sent, ([part]) => part?.serverTime, keys);
  }
}

function waiterState(waiter: WaitingRequest, position: number): WaiterState {
  const { id, permits, waitingFor, label, priority, group, weight } = waiter;
  return { id, permits, position, waitingFor, label, priority, group, weight };
}

/** As the backend knows it; undefined where it does not. */
function limitOf({ storedLimit, otherLimit }: InspectPage) {
  if (storedLimit !== undefined) return { limit: storedLimit, limitFrom: 'setLimit' } as const;
  return otherLimit === undefined
    ? undefined
    : ({ limit: otherLimit, limitFrom: 'caller' } as const);
}
