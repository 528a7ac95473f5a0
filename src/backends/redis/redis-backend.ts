import type { Timer } from '../../time/clock.js';
import { systemClock } from '../../time/clock.js';
import { allOrNone } from '../all-or-none.js';
import type * as port from '../backend.js';
import { UnfitServerError } from '../unfit-server.js';
import { acquire, saysBusy } from './acquire.js';
import * as admin from './admin.js';
import type { Script } from './compose-script.js';
import { script } from './compose-script.js';
import type { RedisConnection, Subscription } from './connection.js';
import { extend } from './extend.js';
import { inspect, overview } from './inspect.js';
import { inboxChannels, keysOf } from './keys.js';
import { listNames, noteStripes } from './names.js';
import type { Operation, ScriptCall } from './operation.js';
import { inOrder, readReplies, scriptCalls } from './operation.js';
import { hearPush } from './push-message.js';
import { isReadOnlyError, isRetryableError, ReadOnlyRule } from './redis-errors.js';
import { release } from './release.js';
import { runScript } from './script-runner.js';
import { ServerCheck } from './server-check.js';
import { UnexpectedReplyError } from './wire-text.js';
import { confirmedByReplicas } from './with-replicas.js';

const evictionScript = script('eviction');

/** How long the end of a subscription is waited for: a server that hangs does not confirm it. */
const UNSUBSCRIBE_TIMEOUT_MS = 200;

/**
 * Tickets in sorted sets on one Redis server, or on the node of a cluster that has the semaphore's
 * slot.
 */
export class RedisBackend implements port.Backend {
  readonly #connection: RedisConnection;
  readonly #readOnly = new ReadOnlyRule();
  readonly #check: ServerCheck;
  readonly #confirm: ReturnType<typeof confirmedByReplicas> | undefined;
  /**
   * On a cluster, each semaphore by itself: a name is its own hash tag, so two names share a slot
   * by chance alone. Elsewhere all share.
   */
  readonly laneOf?: (key: port.SemaphoreKey) => string;
  readonly withReplicas?: (required: port.ReplicaRequirement) => port.Backend;
  /**
   * WAIT speaks of what its own connection wrote, and a grant that is pushed was written by
   * another's.
   */
  readonly confirmsPushedGrants: boolean;
  readonly listen?: NonNullable<port.Backend['listen']>;

  constructor(connection: RedisConnection, required?: port.ReplicaRequirement) {
    this.#connection = connection;
    this.#check = new ServerCheck(connection);
    this.confirmsPushedGrants = required !== undefined;
    if (connection.eachMaster !== undefined) {
      this.laneOf = (key) => keysOf(key)[0] ?? key.prefix;
    }
    const replication = connection.replication?.bind(connection);
    if (replication !== undefined && required !== undefined) {
      this.#confirm = confirmedByReplicas(replication, required, (calls) => this.release(calls));
    } else if (replication !== undefined) {
      this.withReplicas = backendsWithReplicas(connection);
    }
    const subscribe = connection.subscribe?.bind(connection);
    if (subscribe === undefined) return;
    this.listen = (client, prefix, listener) => {
      const subscription = subscribe(inboxChannels(prefix) + client, {
        onMessage: (message) => hearPush(message, client, listener),
        onHealth: (healthy) => listener.onHealth(healthy),
        onFailed: () => listener.onFailed?.(),
      });
      return { close: () => ended(subscription) };
    };
  }

  acquire(calls: readonly port.AcquireCall[]): Promise<readonly port.AcquireReply[]> {
    if (this.#confirm === undefined) return this.#run(acquire, calls);
    return this.#confirm(calls, () => this.#run(acquire, calls));
  }

  acquireTogether(
    calls: readonly port.AcquireCall[],
  ): Promise<readonly port.AcquireReply[] | undefined> {
    const [call, ...others] = scriptCalls(allOrNone(calls) ?? [], acquire, '*');
    if (call === undefined || others.length > 0) return Promise.resolve(undefined);
    const read = (reply: unknown): port.AcquireReply[] | undefined =>
      saysBusy(reply) ? undefined : readReplies(reply, call, acquire);
    const send = () => this.#send(acquire.script, call, read);
    return this.#confirm === undefined ? send() : this.#confirm(calls, send);
  }

  extend(calls: readonly port.ExtendCall[]): Promise<readonly port.ExtendReply[]> {
    return this.#run(extend, calls);
  }

  release(calls: readonly port.ReleaseCall[]): Promise<readonly port.ReleaseReply[]> {
    return this.#run(release, calls);
  }

  setLimit(call: port.SetLimitCall): Promise<port.SetLimitReply> {
    return this.#runAlone(admin.setLimit, call);
  }

  setRate(call: port.SetRateCall): Promise<port.SetRateReply> {
    return this.#runAlone(admin.setRate, call);
  }

  addPermits(call: port.AddPermitsCall): Promise<port.AddPermitsReply> {
    return this.#runAlone(admin.addPermits, call);
  }

  adopt(call: port.AdoptCall): Promise<port.AdoptReply> {
    return this.#runAlone(admin.adopt, call);
  }

  revoke(call: port.RevokeCall): Promise<port.RevokeReply> {
    return this.#runAlone(admin.revoke, call);
  }

  inspect(call: port.InspectCall): Promise<port.InspectReply> {
    return inspect(this.#connection, call);
  }

  async overview(keys: readonly port.SemaphoreKey[]): Promise<readonly port.OverviewReply[]> {
    // On a cluster two names share a slot by chance alone.
    const together = this.laneOf === undefined ? keys : keys.slice(0, 1);
    return together.length === 0 ? [] : overview(this.#connection, together);
  }

  listNames(prefix: string, cursor: string): Promise<port.NamePage> {
    return listNames(this.#connection, prefix, cursor);
  }

  noteStripes(key: port.SemaphoreKey, stripes: number): Promise<readonly number[]> {
    return noteStripes(this.#connection, key, stripes);
  }

  /**
   * A server that may evict keys under memory pressure may evict a semaphore's, and then its limit
   * is not kept.
   */
  async findHazard(key: port.SemaphoreKey): Promise<string | undefined> {
    const meta = keysOf(key).slice(1, 2);
    const sent = runScript(this.#connection, evictionScript, meta, [], String);
    const [maxmemory, policy] = (await sent.catch(() => '')).split(' ');
    if (policy === undefined || policy === 'noeviction' || maxmemory === '0') return undefined;
    return `the server's maxmemory-policy is ${policy}, which may evict a semaphore's keys: set noeviction`;
  }

  isRetryable(error: unknown): boolean {
    if (error instanceof UnexpectedReplyError || error instanceof UnfitServerError) return false;
    if (this.#connection.isClosed?.() === true) return false;
    return isReadOnlyError(error) ? this.#readOnly.onReadOnly() : isRetryableError(error);
  }

  /** Mostly one script call, and then one promise beside the client's own. */
  #run<C extends port.Call, R extends port.Reply>(
    operation: Operation<C, R>,
    calls: readonly C[],
  ): Promise<readonly R[]> {
    const sent = scriptCalls(calls, operation);
    const first = sent[0];
    if (sent.length === 1 && first !== undefined) {
      return this.#send(operation.script, first, (reply) => {
        this.#readOnly.onReply();
        const replies = readReplies(reply, first, operation);
        return first.calls === calls ? replies : inOrder(calls, sent, [replies]);
      });
    }
    const all = sent.map((one) =>
      this.#send(operation.script, one, (reply) => readReplies(reply, one, operation)),
    );
    return Promise.all(all).then((replies) => inOrder(calls, sent, replies));
  }

  async #runAlone<C extends port.Call, R extends port.Reply>(
    operation: Operation<C, R>,
    call: C,
  ): Promise<R> {
    const [reply] = await this.#run(operation, [call]);
    if (reply === undefined) throw new UnexpectedReplyError(operation.script.name, reply);
    return reply;
  }

  #send<R extends readonly port.Reply[] | undefined>(
    sent: Script,
    { keys, args }: ScriptCall<unknown>,
    read: (reply: unknown) => R,
  ): Promise<R> {
    const replies = runScript(this.#connection, sent, keys, args, read);
    if (this.#check.passed) return replies;
    return this.#check.confirm(replies, (all) => all?.[0]?.serverTime, keys);
  }
}

/** One for each requirement. */
function backendsWithReplicas(
  connection: RedisConnection,
): (required: port.ReplicaRequirement) => port.Backend {
  const made = new Map<string, port.Backend>();
  return (required) => {
    const place = `${required.atLeast} ${required.timeout}`;
    const backend = made.get(place) ?? new RedisBackend(connection, required);
    made.set(place, backend);
    return backend;
  };
}

/** Never takes long, and never rejects. */
async function ended(subscription: Subscription): Promise<void> {
  let timer: Timer | undefined;
  // It keeps the process alive, for whoever waits for the end must get to it.
  const goodbye = new Promise<void>((resolve) => {
    timer = systemClock.schedule(resolve, UNSUBSCRIBE_TIMEOUT_MS, true);
  });
  await Promise.race([subscription.close(), goodbye]).catch(() => undefined);
  timer?.cancel();
}
