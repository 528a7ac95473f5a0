import type { RedisConnection } from '../../src/index.js';
import { quorumTakeScript } from '../../src/redis/scripts.js';
import type { SingleTarget } from '../../src/targets.js';
import { connectionTo } from './connection-to.js';

/** Counts what goes over a client. */
export function countingConnection(target: SingleTarget): {
  connection: RedisConnection;
  /** Requests in calls of `take`. */
  tries(): number;
  /** Scripts run. */
  calls(): number;
} {
  const inner = connectionTo(target);
  let [tries, calls] = [0, 0];
  const connection: RedisConnection = {
    runBySha: (sha1, keys, args) => {
      calls += 1;
      // After five arguments for all, five for each request.
      if (sha1 === quorumTakeScript.sha1) tries += (args.length - 5) / 5;
      return inner.runBySha(sha1, keys, args);
    },
    runByText: (text, keys, args) => inner.runByText(text, keys, args),
  };
  return { connection, tries: () => tries, calls: () => calls };
}
