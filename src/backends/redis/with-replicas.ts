import type {
  AcquireCall,
  AcquireReply,
  AcquireVerdict,
  ReleaseCall,
  ReplicaRequirement,
} from '../backend.js';
import type { RedisConnection } from './connection.js';

export type Confirm = <R extends readonly AcquireReply[] | undefined>(
  calls: readonly AcquireCall[],
  acquire: () => Promise<R>,
) => Promise<R>;

/**
 * Lets a permit count once enough replicas have it: WAIT follows each call that granted a permit. A
 * permit that too few replicas have is given back, and the call rejects.
 */
export function confirmedByReplicas(
  replication: NonNullable<RedisConnection['replication']>,
  required: ReplicaRequirement,
  release: (calls: readonly ReleaseCall[]) => Promise<unknown>,
): Confirm {
  /** By id: of the calls under way, the call that asked for the id last. */
  const latest = new Map<string, object>();
  return async (calls, acquire) => {
    const ids = calls.flatMap(({ requests }) => requests.map(({ id }) => id));
    const own = {};
    for (const id of ids) latest.set(id, own);
    try {
      const acknowledged = replication();
      const replies = await acquire();
      if (!replies?.some(({ verdicts }) => verdicts.some(isGranted))) return replies;
      const count = await acknowledged(required.atLeast, required.timeout);
      if (count >= required.atLeast) return replies;
      const unconfirmed = calls.flatMap(({ key, limit, requests }, i) => {
        const granted = requests.filter((_request, j) => isGranted(replies[i]?.verdicts[j]));
        // An id that was asked for again since is that call's ticket, and may be held.
        const gone = granted.map(({ id }) => id).filter((id) => latest.get(id) === own);
        // In no client's name: what comes free is pushed to all waiters, here too.
        return gone.length === 0 ? [] : [{ key, limit, client: '', ids: gone }];
      });
      await release(unconfirmed);
      const told = `${count} of ${required.atLeast} replicas acknowledged the ticket`;
      const message = `${told} within ${required.timeout} ms; check INFO replication, or lower replicas.atLeast`;
      throw Object.assign(new Error(message), { name: 'TooFewReplicasError' });
    } finally {
      for (const id of ids) if (latest.get(id) === own) latest.delete(id);
    }
  };
}

function isGranted(verdict: AcquireVerdict | undefined): boolean {
  return verdict?.kind === 'granted';
}
