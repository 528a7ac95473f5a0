import type { RedisConnection } from '../../../src/index.js';
import { checkServerScript } from '../../../src/redis/scripts.js';

type Run = RedisConnection['runBySha'];

/** A connection whose scripts all do the same, to a server that is found fit. */
export function fitServer(run: Run): RedisConnection {
  return {
    runBySha: run,
    runByText: (text, ...call) =>
      text === checkServerScript.text ? Promise.resolve('1') : run(text, ...call),
  };
}
