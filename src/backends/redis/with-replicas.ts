import type { AcquireCall, AcquireReply, ReleaseCall, ReplicaRequirement } from '../backend.js';
import type { RedisConnection } from './connection.js';

type Confirm = <R extends readonly AcquireReply[] | undefined>(
  calls: readonly AcquireCall[],
  acquire: () => Promise<R>,
) => Promise<R>;

/**
 * Lets a permit count once enough replicas have it: WAIT follows each call that granted one. What
 * too few replicas have is given back, and the call rejects.
 */
export function confirmedByReplicas(
  replication: NonNullable<RedisConnection['replication']>,
  required: ReplicaRequirement,
  release: (calls: readonly ReleaseCall[]) => Promise<unknown>,
): Confirm {
  /** By id, of the calls under way: the one that asked for it last. */
  const latest = new Map<string, object>();
  return async (calls, acquire) => {
    const ids = calls.flatMap(({ requests }) => requests.map(({ id }) => id));
    const own = {};
    for (const id of ids) latest.set(id, own);
    try {
      const acknowledged = replication();
      const replies = await acquire();
      if (!replies?.some(hasGrant)) return replies;
      const count = await acknowledged(required.atLeast, required.timeout);
      if (count >= required.atLeast) return replies;
      // An id that was asked for again since is that call's ticket, and may be held.
      const isOurs = (id: string): boolean => latest.get(id) === own;
      const granted = calls.map((call, i) => grantedOf(call, replies[i], isOurs));
      const some = granted.filter(({ ids: gone }) => gone.length > 0);
      if (some.length > 0) await release(some);
      const told = `${count} of ${required.atLeast} replicas acknowledged the ticket`;
      const message = `${told} within ${required.timeout} ms; check INFO replication, or lower replicas.atLeast`;
      throw Object.assign(new Error(message), { name: 'TooFewReplicasError' });
    } finally {
      for (const id of ids) if (latest.get(id) === own) latest.delete(id);
    }
  };
}

/** In no client's name: what comes free is pushed to all waiters, here too. */
function grantedOf(
  { key, limit, requests }: AcquireCall,
  reply: AcquireReply | undefined,
  isOurs: (id: string) => boolean,
): ReleaseCall {
  const granted = requests.filter((_one, i) => reply?.verdicts[i]?.kind === 'granted');
  return { key, limit, client: '', ids: granted.map(({ id }) => id).filter(isOurs) };
}

function hasGrant({ verdicts }: AcquireReply): boolean {
  return verdicts.some(({ kind }) => kind === 'granted');
}
