import type {
  AcquireCall,
  AcquireReply,
  AddPermitsCall,
  AddPermitsReply,
  AdoptCall,
  AdoptReply,
  Backend,
  ExtendCall,
  ExtendReply,
  InspectCall,
  InspectReply,
  NamePage,
  ReleaseCall,
  ReleaseReply,
  ReplicaRequirement,
  RevokeCall,
  RevokeReply,
  SemaphoreKey,
  SetLimitCall,
  SetLimitReply,
  SetRateCall,
  SetRateReply,
} from '../backend.js';
import type { RedisConnection } from './connection.js';

type Inner = Backend &
  Required<
    Pick<
      Backend,
      | 'acquireTogether'
      | 'addPermits'
      | 'adopt'
      | 'findHazard'
      | 'isRetryable'
      | 'listNames'
      | 'noteStripes'
      | 'revoke'
      | 'setLimit'
      | 'setRate'
    >
  >;

/** Permits were granted but too few replicas acknowledged them. */
class TooFewReplicasError extends Error {
  constructor(count: number, { atLeast, timeout }: ReplicaRequirement) {
    super(
      `${count} of ${atLeast} replicas acknowledged the ticket within ${timeout} ms; check INFO replication, or lower replicas.atLeast`,
    );
    this.name = 'TooFewReplicasError';
  }
}

/**
 * A backend where a permit counts once enough replicas have it: WAIT follows each call that granted
 * one. What too few have is given back, and the call rejects.
 */
export class WithReplicas implements Backend {
  /**
   * WAIT speaks of what its own connection wrote, and a grant that is pushed was written by
   * another's.
   */
  readonly confirmsPushedGrants = true;
  readonly listen?: NonNullable<Backend['listen']>;
  readonly #inner: Inner;
  readonly #replication: NonNullable<RedisConnection['replication']>;
  readonly #required: ReplicaRequirement;
  /** By id, of the calls under way: the one that asked for it last. */
  readonly #latest = new Map<string, object>();

  constructor(
    inner: Inner,
    replication: NonNullable<RedisConnection['replication']>,
    required: ReplicaRequirement,
  ) {
    this.#inner = inner;
    this.#replication = replication;
    this.#required = required;
    if (inner.listen !== undefined) this.listen = inner.listen.bind(inner);
  }

  acquire(calls: readonly AcquireCall[]): Promise<readonly AcquireReply[]> {
    return this.#confirm(calls, () => this.#inner.acquire(calls));
  }

  acquireTogether(calls: readonly AcquireCall[]): Promise<readonly AcquireReply[] | undefined> {
    return this.#confirm(calls, () => this.#inner.acquireTogether(calls));
  }

  extend(calls: readonly ExtendCall[]): Promise<readonly ExtendReply[]> {
    return this.#inner.extend(calls);
  }

  release(calls: readonly ReleaseCall[]): Promise<readonly ReleaseReply[]> {
    return this.#inner.release(calls);
  }

  inspect(call: InspectCall): Promise<InspectReply> {
    return this.#inner.inspect(call);
  }

  listNames(prefix: string, cursor: string): Promise<NamePage> {
    return this.#inner.listNames(prefix, cursor);
  }

  setLimit(call: SetLimitCall): Promise<SetLimitReply> {
    return this.#inner.setLimit(call);
  }

  setRate(call: SetRateCall): Promise<SetRateReply> {
    return this.#inner.setRate(call);
  }

  addPermits(call: AddPermitsCall): Promise<AddPermitsReply> {
    return this.#inner.addPermits(call);
  }

  adopt(call: AdoptCall): Promise<AdoptReply> {
    return this.#inner.adopt(call);
  }

  revoke(call: RevokeCall): Promise<RevokeReply> {
    return this.#inner.revoke(call);
  }

  findHazard(key: SemaphoreKey): Promise<string | undefined> {
    return this.#inner.findHazard(key);
  }

  noteStripes(key: SemaphoreKey, stripes: number): Promise<readonly number[]> {
    return this.#inner.noteStripes(key, stripes);
  }

  isRetryable(error: unknown): boolean {
    return this.#inner.isRetryable(error);
  }

  async #confirm<R extends readonly AcquireReply[] | undefined>(
    calls: readonly AcquireCall[],
    acquire: () => Promise<R>,
  ): Promise<R> {
    const ids = calls.flatMap(({ requests }) => requests.map(({ id }) => id));
    const own = {};
    for (const id of ids) this.#latest.set(id, own);
    try {
      const acknowledged = this.#replication();
      const replies = await acquire();
      if (!replies?.some(hasGrant)) return replies;
      const count = await acknowledged(this.#required.atLeast, this.#required.timeout);
      if (count >= this.#required.atLeast) return replies;
      await this.#giveBack(calls, replies, own);
      throw new TooFewReplicasError(count, this.#required);
    } finally {
      for (const id of ids) if (this.#latest.get(id) === own) this.#latest.delete(id);
    }
  }

  /** Where an id has been asked for again since, the ticket is that call's, and may be held. */
  async #giveBack(
    calls: readonly AcquireCall[],
    replies: readonly AcquireReply[],
    own: object,
  ): Promise<void> {
    const granted = calls.map(({ key, limit, requests }, i): ReleaseCall => {
      const gone = requests.filter(
        ({ id }, j) => replies[i]?.verdicts[j]?.kind === 'granted' && this.#latest.get(id) === own,
      );
      // In nobody's name: what comes free is pushed to all waiters, here too.
      return { key, limit, client: '', ids: gone.map(({ id }) => id) };
    });
    const some = granted.filter(({ ids }) => ids.length > 0);
    if (some.length > 0) await this.#inner.release(some);
  }
}

function hasGrant({ verdicts }: AcquireReply): boolean {
  return verdicts.some(({ kind }) => kind === 'granted');
}
