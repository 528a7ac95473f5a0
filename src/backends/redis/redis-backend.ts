import { awaitAtMost } from '../../time/call-timeout.js';
import { systemClock } from '../../time/clock.js';
import type * as port from '../backend.js';
import { UnfitServerError } from '../unfit-server.js';
import { acquire, saysBusy, together } from './acquire.js';
import * as admin from './admin.js';
import { script } from './compose-script.js';
import type { RedisConnection } from './connection.js';
import { extend } from './extend.js';
import { inspect, overview } from './inspect.js';
import { inboxChannels, keysOf } from './keys.js';
import { listNames, noteStripes } from './names.js';
import { argumentsOf, keysOfAll, type Operation, readReplies } from './operation.js';
import { hearPush } from './push-message.js';
import { RetryRule } from './redis-errors.js';
import { release } from './release.js';
import { runScript } from './script-runner.js';
import { ServerCheck } from './server-check.js';
import { textOf, UnexpectedReplyError } from './wire-text.js';
import { type Confirm, confirmedByReplicas } from './with-replicas.js';

const evictionScript = script('eviction-policy');

/** How long the end of a subscription is waited for: a server that hangs does not confirm it. */
const UNSUBSCRIBE_TIMEOUT_MS = 200;

type Method<Name extends keyof port.Backend> = NonNullable<port.Backend[Name]>;

/**
 * Tickets in sorted sets on one Redis server, or on the node of a cluster that has the semaphore's
 * slot.
 */
export class RedisBackend implements port.Backend {
  readonly #connection: RedisConnection;
  readonly #retries = new RetryRule();
  readonly #check: ServerCheck;
  /** Lets a permit count once enough replicas have it, where that is required. */
  readonly #confirm: Confirm = (_calls, send) => send();
  /**
   * On a cluster, each semaphore by itself: a name is its own hash tag, so two names share a slot
   * by chance alone. Elsewhere all share.
   */
  readonly laneOf?: Method<'laneOf'>;
  readonly withReplicas?: Method<'withReplicas'>;
  /**
   * WAIT speaks of what its own connection wrote, and a grant that is pushed was written by
   * another's.
   */
  readonly confirmsPushedGrants: boolean;
  readonly listen?: Method<'listen'>;
  readonly extend: Method<'extend'> = (calls) => this.#run(extend, calls);
  readonly release: Method<'release'> = (calls) => this.#run(release, calls);
  readonly setLimit: Method<'setLimit'> = this.#alone(admin.setLimit);
  readonly setRate: Method<'setRate'> = this.#alone(admin.setRate);
  readonly setGroupLimit: Method<'setGroupLimit'> = this.#alone(admin.setGroupLimit);
  readonly addPermits: Method<'addPermits'> = this.#alone(admin.addPermits);
  readonly adopt: Method<'adopt'> = this.#alone(admin.adopt);
  readonly revoke: Method<'revoke'> = this.#alone(admin.revoke);
  readonly inspect: Method<'inspect'> = (call) => inspect(this.#connection, call);
  readonly overview: Method<'overview'> = (keys) =>
    overview(this.#connection, this.laneOf === undefined ? keys : keys.slice(0, 1));
  readonly acquireTogether: Method<'acquireTogether'> = (calls) => {
    const read = (reply: unknown): port.AcquireReply[] | undefined =>
      saysBusy(reply) ? undefined : readReplies(reply, calls, together);
    return this.#confirm(calls, () => this.#send(together, calls, read));
  };
  readonly listNames: Method<'listNames'> = (...page) => listNames(this.#connection, ...page);
  readonly noteStripes: Method<'noteStripes'> = (...note) => noteStripes(this.#connection, ...note);

  constructor(connection: RedisConnection, required?: port.ReplicaRequirement) {
    this.#connection = connection;
    this.#check = new ServerCheck(connection);
    this.confirmsPushedGrants = required !== undefined;
    if (connection.eachMaster !== undefined) this.laneOf = (key) => keysOf(key)[0] ?? key.prefix;
    const replication = connection.replication?.bind(connection);
    if (replication !== undefined && required !== undefined) {
      this.#confirm = confirmedByReplicas(replication, required, (calls) => this.release(calls));
    } else if (replication !== undefined) {
      const made = new Map<string, RedisBackend>();
      this.withReplicas = (needed) => {
        const requirement = `${needed.atLeast} ${needed.timeout}`;
        const backend = made.get(requirement) ?? new RedisBackend(connection, needed);
        made.set(requirement, backend);
        return backend;
      };
    }
    const subscribe = connection.subscribe?.bind(connection);
    if (subscribe === undefined) return;
    this.listen = (client, prefix, listener) => {
      const subscription = subscribe(inboxChannels(prefix) + client, {
        onMessage: (message) => hearPush(message, client, listener),
        onHealth: (healthy) => listener.onHealth(healthy),
        onFailed: () => listener.onFailed?.(),
      });
      return {
        close: () => awaitAtMost(systemClock, UNSUBSCRIBE_TIMEOUT_MS, subscription.close()),
      };
    };
  }

  acquire(calls: readonly port.AcquireCall[]): Promise<readonly port.AcquireReply[]> {
    return this.#confirm(calls, () => this.#run(acquire, calls));
  }

  /**
   * A server that may evict keys under memory pressure may evict a semaphore's, and then its limit
   * is not kept.
   */
  async findHazard(key: port.SemaphoreKey): Promise<string | undefined> {
    const info = keysOf(key).slice(1);
    const sent = runScript(this.#connection, evictionScript, info, [], textOf);
    const memory = await sent.catch(() => '');
    const [, policy = 'noeviction'] = /^maxmemory_policy:([\w-]+)/m.exec(memory) ?? [];
    if (policy === 'noeviction' || /^maxmemory:0\b/m.test(memory)) return undefined;
    return `the server's maxmemory-policy is ${policy}, which may evict a semaphore's keys: set noeviction`;
  }

  isRetryable(error: unknown): boolean {
    if (error instanceof UnexpectedReplyError || error instanceof UnfitServerError) return false;
    if (this.#connection.isClosed?.() === true) return false;
    return this.#retries.isRetryable(error);
  }

  #run<C extends port.Call, R extends port.Reply>(
    operation: Operation<C, R>,
    calls: readonly C[],
  ): Promise<readonly R[]> {
    if (calls.length === 0) return Promise.resolve([]);
    return this.#send(operation, calls, (reply) => {
      this.#retries.onReply();
      return readReplies(reply, calls, operation);
    });
  }

  #alone<C extends port.Call, R extends port.Reply>(
    operation: Operation<C, R>,
  ): (call: C) => Promise<R> {
    return async (call) => {
      const [reply] = await this.#run(operation, [call]);
      if (reply === undefined) throw new UnexpectedReplyError(operation.script.name, reply);
      return reply;
    };
  }

  #send<C extends port.Call, R>(
    operation: Operation<C, unknown>,
    calls: readonly C[],
    read: (reply: unknown) => R,
  ): Promise<R> {
    const keys = keysOfAll(calls);
    const args = argumentsOf(calls, operation);
    const replies = runScript(this.#connection, operation.script, keys, args, read);
    if (this.#check.passed) return replies;
    return this.#check.confirm(replies, keys);
  }
}
