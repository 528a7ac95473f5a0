import type { AcquireCall, AcquireReply, ReleaseCall, ReplicaRequirement } from '../backend.js';
import type { RedisConnection } from './connection.js';

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
 * Lets a permit count once enough replicas have it: WAIT follows each call that granted one. What
 * too few replicas have is given back, and the call rejects.
 */
export class WithReplicas {
  readonly #replication: NonNullable<RedisConnection['replication']>;
  readonly #required: ReplicaRequirement;
  readonly #release: (calls: readonly ReleaseCall[]) => Promise<unknown>;
  /** By id, of the calls under way: the one that asked for it last. */
  readonly #latest = new Map<string, object>();

  constructor(
    replication: NonNullable<RedisConnection['replication']>,
    required: ReplicaRequirement,
    release: (calls: readonly ReleaseCall[]) => Promise<unknown>,
  ) {
    this.#replication = replication;
    this.#required = required;
    this.#release = release;
  }

  async confirm<R extends readonly AcquireReply[] | undefined>(
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
      // In no client's name: what comes free is pushed to all waiters, here too.
      return { key, limit, client: '', ids: gone.map(({ id }) => id) };
    });
    const some = granted.filter(({ ids }) => ids.length > 0);
    if (some.length > 0) await this.#release(some);
  }
}

function hasGrant({ verdicts }: AcquireReply): boolean {
  return verdicts.some(({ kind }) => kind === 'granted');
}
