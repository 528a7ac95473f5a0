import type { RedisConnection } from './connection.js';
import type { Script } from './scripts.js';

/**
 * EVALSHA, and on NOSCRIPT alone EVAL: any other error may mean that the script ran. A cluster's nodes
 * have caches of their own and a promoted replica has none, so nothing is remembered between calls.
 * See https://redis.io/docs/latest/commands/evalsha/.
 */
export async function runScript(
  connection: RedisConnection,
  script: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  try {
    return await connection.runBySha(script.sha1, keys, args);
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
    return connection.runByText(script.text, keys, args);
  }
}
